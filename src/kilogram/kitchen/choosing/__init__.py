"""Which method to try: the texts' decision trees, walked with the data at hand.

choose(table, target) -> Choice   questions with their answers, methods to try with reason and
                                  cost, and what is left out
"""

from kilogram.kitchen.choosing.choice import Choice, Try, choose

__all__ = ["Choice", "Try", "choose"]
