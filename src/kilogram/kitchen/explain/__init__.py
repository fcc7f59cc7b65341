"""Explanation of a model: permutation importance, partial dependence, nearest training rows.

    importance   loss of score when a column is permuted, with an interval
    dependence   mean prediction by the value of a column, and its variation between rows
    nearest      training rows nearest to a given one
    run          all of it together, as an Explanation
    show         its page, and tables for the terminal

Columns are those of the table; the features made from one column are permuted together.
"""

from kilogram.kitchen.explain.explanation import Explanation
from kilogram.kitchen.explain.run import explain_model

__all__ = ["Explanation", "explain_model"]
