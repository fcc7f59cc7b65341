"""Which methods to try: the decision trees of the texts, applied to a table.

choose(table, target) -> Choice   questions with their answers, methods to try with reason and
                                  cost, and what is left out
"""

from kilogram.kitchen.choose.choice import Choice, Suggestion, choose

__all__ = ["Choice", "Suggestion", "choose"]
