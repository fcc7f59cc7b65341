"""What a cooked model goes by: which columns, in which direction, and from which rows it knows.

    importance   what is lost when a column is shuffled, with an interval
    dependence   how the answer moves with a column, and whether it does so alike for all rows
    nearest      rows the model was cooked from that are most like a given one
    explained    all of it together: a page, its JSON twin, a table for the terminal

Columns are those of the table; what a column becomes inside the pipeline moves together.
"""

from kilogram.kitchen.explain_model.explained import Explained, explain_model

__all__ = ["Explained", "explain_model"]
