"""Exact Shapley and Owen values."""
