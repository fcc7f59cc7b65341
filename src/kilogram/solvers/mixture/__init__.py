"""Mixtures by expectation and maximisation: the components of a pass's sums, and the loop."""
