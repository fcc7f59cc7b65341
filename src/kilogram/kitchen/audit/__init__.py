"""The audit of a table before any split: data leakage and other problems.

audit(table, target)   -> Audit, a list of findings with code, evidence, reason and remedy
audit_table(...)       the same of a table that has been read, as `kg cook` calls it
CODES                  every code with its title, why it matters and what to do
"""

from kilogram.kitchen.audit.finding import CODES, Audit, Finding
from kilogram.kitchen.audit.run import audit, audit_table

__all__ = ["CODES", "Audit", "Finding", "audit", "audit_table"]
