"""A federation rehearsed in one process: real sites on a simulated network, with every fault at every step."""
