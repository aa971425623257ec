"""A participant's own place: its configuration, its secrets, its table, and its part in every protocol. No engine."""
