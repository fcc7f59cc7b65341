"""scikit-learn code run with Kilogram's estimators, without a change in it.

    python -m kilogram.accel script.py        # or: kg accel script.py
    python -m kilogram.accel -m package

puts Kilogram's classes under scikit-learn's public names and then runs the script. In a notebook,
or at the top of a program, before anything is imported from scikit-learn:

>>> from kilogram import accel
>>> accel.patch()  # doctest: +SKIP
>>> from sklearn.svm import SVC  # Kilogram's  # doctest: +SKIP

Only names are exchanged: what was imported from scikit-learn before keeps its classes, and so do
scikit-learn's own modules and the files of models that it has pickled. `docs/scikit_learn.md` lists
what differs.
"""

from kilogram.accel.patching import patch, patched, replaced_names, unpatch

__all__ = ["patch", "patched", "replaced_names", "unpatch"]
