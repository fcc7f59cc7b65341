"""Gradient boosting on binned rows: limits of bins, ensembles of trees, the rounds."""
