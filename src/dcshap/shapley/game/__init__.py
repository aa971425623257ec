"""Games: who plays, which rows a coalition stands for, and what the model answers to them."""
