"""NVIDIA FLARE, the engine that carries bytes between sites; nothing of the method is here."""
