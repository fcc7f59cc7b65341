"""The kitchen: from a table and a target to an evaluated model and a report.

cook -> Cooked       read, audit, recipes compared by nested cross-validation, model
Cooked.save(folder)  HTML report, JSON, model card, recipe, model file
load_model(path)     the model in a file

A module imports only from its own package or from a lower one:

    errors  <  archive, bundled, files, formatting
            <  read      tables from files and data frames
            <  features  column types, and features from columns
            <  question  the prediction task;  measures  the scores
            <  audit     data leakage and other problems of a table
            <  settings
            <  recipes   the pipelines that are compared
            <  judge     outer folds, comparison, evidence
            <  artifact  the model, its file, its predictions
            <  result    the result of `cook`
            <  report    HTML, JSON, model card, plots
            <  explain, explore, export, serve, choose
            <  cook
            <  estimators  CookClassifier, CookRegressor
"""

from kilogram.kitchen.artifact.model import Model
from kilogram.kitchen.artifact.model_file import load_model
from kilogram.kitchen.cook import Cooked, cook, cook_targets
from kilogram.kitchen.errors import KitchenError
from kilogram.kitchen.estimators import CookClassifier, CookRegressor

__all__ = [
    "CookClassifier",
    "CookRegressor",
    "Cooked",
    "KitchenError",
    "Model",
    "cook",
    "cook_targets",
    "load_model",
]
