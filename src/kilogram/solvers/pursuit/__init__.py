"""Greedy selection of columns: matching pursuit and least angles."""
