"""Validation of X, y and sample weights, whatever container they come in."""
