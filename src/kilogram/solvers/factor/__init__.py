"""Factors of a matrix: non-negative, independent, and low rank beside sparse errors."""
