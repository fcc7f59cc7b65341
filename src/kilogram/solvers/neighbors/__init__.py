"""Nearest-neighbour search and neighbour graphs."""
