"""
AdaBoost: weak rules, voted
===========================

Each round fits a stump, a tree with one question, to rows that earlier rounds got wrong. One
stump is a line; two hundred are a curve.
"""

import matplotlib.pyplot as plt

import kilogram as kg

X, y = kg.make_two_moons(200, noise=0.2, random_state=0)
figure, axes = plt.subplots(1, 3, figsize=(12, 3.8), sharey=True, layout="constrained")
for ax, rounds in zip(axes, (1, 10, 200)):
    model = kg.AdaBoostClassifier(n_estimators=rounds, random_state=0).fit(X, y)
    kg.DecisionBoundaryDisplay.from_estimator(model, X, y, ax=ax)
    ax.set_title(f"{rounds} stump{'s' * (rounds > 1)}: {model.score(X, y):.0%}")
plt.show()
