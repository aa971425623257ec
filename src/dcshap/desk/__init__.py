"""The desk: where people ask why, and get the same answer everywhere."""
