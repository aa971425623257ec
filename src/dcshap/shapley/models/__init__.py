"""Models that are recognised, and what is known about them that makes their games cheaper."""
