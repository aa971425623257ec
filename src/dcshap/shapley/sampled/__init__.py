"""Shapley values from a part of the coalitions, with standard errors."""
