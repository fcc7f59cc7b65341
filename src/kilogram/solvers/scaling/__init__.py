"""Multidimensional scaling: coordinates from distances, by eigenvectors or by majorisation."""
