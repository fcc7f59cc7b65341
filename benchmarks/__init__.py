"""Kilogram beside its peers: same data, one run, same number of threads."""
