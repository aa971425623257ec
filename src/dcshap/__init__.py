"""Train one model on data that nobody may share, and get the same explanation of every prediction."""
