"""One attack per file: functions from what an attacker has to what it recovers, each usable alone."""
