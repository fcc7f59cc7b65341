"""Densities: histograms, sums of kernels, trees, forests, copulas, and classifiers made of them."""
