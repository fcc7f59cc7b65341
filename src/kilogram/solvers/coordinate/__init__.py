"""Coordinate descent."""
