"""
Random kitchen sinks
====================

With more random features a linear model becomes a better kernel machine.
"""

import matplotlib.pyplot as plt

import kilogram as kg

X, y = kg.make_two_moons(300, noise=0.2, random_state=0)
figure, axes = plt.subplots(1, 3, figsize=(12, 3.8), sharey=True, layout="constrained")
for ax, m in zip(axes, (4, 20, 300)):
    model = kg.KitchenSinksClassifier(n_components=m, random_state=0).fit(X, y)
    kg.DecisionBoundaryDisplay.from_estimator(model, X, y, ax=ax)
    ax.set_title(f"{m} random features: {model.score(X, y):.0%}")
plt.show()
