"""
A network learns XOR
====================

No line separates the classes of XOR. One hidden unit is one line; several are several lines, and
the output combines them. Without offsets the network of the texts cannot learn it, however many
units it has: f(-x) = -f(x), but opposite corners belong to the same class.
"""

import matplotlib.pyplot as plt

import kilogram as kg

X, y = kg.make_xor(200, random_state=0)
figure, axes = plt.subplots(1, 3, figsize=(12, 3.8), sharey=True, layout="constrained")
for ax, (units, offsets) in zip(axes, [(1, True), (4, True), (4, False)]):
    model = kg.MLPClassifier(
        (units,),
        activation="tanh",
        solver="lbfgs",
        alpha=0.01,
        max_iter=2000,
        fit_intercept=offsets,
        random_state=0,
    ).fit(X, y)
    kg.DecisionBoundaryDisplay.from_estimator(model, X, y, response_method="predict_proba", ax=ax)
    title = f"{units} hidden unit{'s' * (units > 1)}{'' if offsets else ' without offsets'}"
    ax.set_title(f"{title}: {model.score(X, y):.0%}")
plt.show()
