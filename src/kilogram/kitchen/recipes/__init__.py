"""Recipes: preprocessing, model and search space, compared by `kg cook`."""
