"""
A network learns XOR
====================

No line separates the classes of XOR. Four hidden units are four lines, and the network combines
them.
"""

import matplotlib.pyplot as plt

import kilogram as kg

X, y = kg.make_xor(200, random_state=0)
figure, axes = plt.subplots(1, 3, figsize=(12, 3.8), sharey=True, layout="constrained")
for ax, units in zip(axes, (1, 2, 8)):
    model = kg.MLPClassifier((units,), solver="lbfgs", max_iter=2000, random_state=1).fit(X, y)
    kg.DecisionBoundaryDisplay.from_estimator(model, X, y, response_method="predict_proba", ax=ax)
    ax.set_title(f"{units} hidden unit{'s' * (units > 1)}: {model.score(X, y):.0%}")
plt.show()
