"""Alternating minimisation over clusters: the pass over the rows, the starts, the loop."""
