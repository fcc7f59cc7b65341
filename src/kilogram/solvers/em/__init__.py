"""Expectation-maximisation for Gaussian mixtures."""
