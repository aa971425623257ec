"""Running a site for years: who waits, who is there, what serves again by itself, checks, backups, services."""
