"""Outer folds, measures, comparison and the evidence behind the report."""
