"""Arithmetic of binary trees: sums over subtrees, pruning, the leaves of rows."""
