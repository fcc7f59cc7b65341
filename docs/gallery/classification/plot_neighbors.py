"""
One neighbour, or fifteen
=========================

With one neighbour every row has a territory of its own, noise included; with fifteen the
boundary is smooth. `edited_neighbors` removes rows that their neighbours contradict.
"""

import matplotlib.pyplot as plt

import kilogram as kg

X, y = kg.make_two_moons(200, noise=0.3, random_state=0)
figure, axes = plt.subplots(1, 2, figsize=(9.5, 4), sharey=True, layout="constrained")
for ax, k in zip(axes, (1, 15)):
    model = kg.KNeighborsClassifier(k).fit(X, y)
    kg.DecisionBoundaryDisplay.from_estimator(model, X, y, ax=ax)
    ax.set_title(f"{k} neighbour{'s' * (k > 1)}")
plt.show()
