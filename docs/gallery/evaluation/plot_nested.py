"""
The score of tuning is optimistic
=================================

The best score of a search was chosen because it is high. Nested cross-validation scores the
whole procedure on rows that the search has not seen; the difference is the optimism.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import GridSearchCV

import kilogram as kg
from kilogram.evaluation import nested_cross_validate

rng = np.random.default_rng(0)
X = rng.standard_normal((60, 20))
y = rng.integers(0, 2, 60)  # labels without any relation to X
search = GridSearchCV(kg.SVC(), {"C": np.logspace(-2, 3, 8), "gamma": np.logspace(-4, 1, 8)}, cv=5)
nested = nested_cross_validate(search, X, y, cv=5, scoring="accuracy")
inner = [fold.inner_score for fold in nested.folds]
outer = [fold.score for fold in nested.folds]

figure, ax = plt.subplots(figsize=(6, 3), layout="constrained")
for at, (scores, colour) in enumerate(((inner, "#D55E00"), (outer, "#0072B2"))):
    ax.scatter(scores, np.full(5, at), s=40, color=colour)
    ax.plot(np.mean(scores), at, "|", ms=30, color=colour)
ax.axvline(0.5, color="#8a8a96", ls="--", lw=1)
ax.set_yticks([0, 1], ["best of the search", "nested"])
ax.set(xlabel="accuracy (guessing: 0.5)", ylim=(-0.6, 1.6))
plt.show()
