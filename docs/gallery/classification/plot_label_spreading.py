"""
Two labels for 300 rows
=======================

One row of each moon has a label. It spreads along the graph of neighbours until all rows have
one.
"""

import matplotlib.pyplot as plt
import numpy as np

import kilogram as kg

X, y = kg.make_two_moons(300, noise=0.08, random_state=0)
few = np.full(300, -1)
few[[np.argmin(X[:, 0]), np.argmax(X[:, 0])]] = y[[np.argmin(X[:, 0]), np.argmax(X[:, 0])]]
model = kg.LabelSpreading(kernel="knn", n_neighbors=12, alpha=0.999).fit(X, few)

figure, ax = plt.subplots(layout="constrained")
ax.scatter(*X.T, s=18, c=np.where(model.transduction_ == 1, "#D55E00", "#0072B2"), alpha=0.6, lw=0)
for c, colour in enumerate(("#0072B2", "#D55E00")):
    ax.scatter(*X[few == c].T, s=220, marker="*", color=colour, ec="#2b2b33", zorder=3)
ax.set_title(f"{np.mean(model.transduction_ == y):.1%} right, from two labels", loc="left")
ax.set(xlabel="feature 0", ylabel="feature 1")
plt.show()
