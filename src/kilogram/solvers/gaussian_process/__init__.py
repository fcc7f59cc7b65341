"""Marginal likelihoods of Gaussian processes and their gradients."""
