"""Hierarchical clustering: linkage and cutting of merge trees."""
