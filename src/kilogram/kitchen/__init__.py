"""The kitchen: from a table and a question to an answer one can defend.

cook -> Cooked       read, question, columns, recipes, judged, answered
Cooked.save(folder)  one HTML report, its JSON twin, a model file
load_model(path)     the model again
"""

from kilogram.kitchen.cook import Cooked, cook
from kilogram.kitchen.errors import KitchenError
from kilogram.kitchen.model import Model
from kilogram.kitchen.save import load_model

__all__ = ["Cooked", "KitchenError", "Model", "cook", "load_model"]
