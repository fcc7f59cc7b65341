"""
Least angle regression: a path of straight pieces
=================================================

Least angle regression moves along the direction that makes equal angles with all features that
have entered. Its path has a knot where a feature enters, and is straight in between:
`lars_path` returns the knots themselves.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes

import kilogram as kg

X, y = load_diabetes(return_X_y=True, as_frame=True)
Z = ((X - X.mean()) / X.std()).to_numpy()
alphas, active, coefs = kg.lars_path(Z, (y - y.mean()).to_numpy(), method="lasso")
size = np.abs(coefs).sum(axis=0)

figure, ax = plt.subplots(layout="constrained")
for name, path in zip(X.columns, coefs):
    ax.plot(size, path, "o-", ms=3, lw=1.6, label=name)
ax.set(xlabel="sum of absolute coefficients", ylabel="coefficient")
ax.legend(frameon=False, ncols=2, fontsize=8)
print("order of entry:", [X.columns[j] for j in active])
plt.show()
