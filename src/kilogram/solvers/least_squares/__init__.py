"""Least squares and ridge regression from moments, triangles or spectra."""
