"""
Probabilities of a Gaussian process classifier
==============================================

Colours blend by probability: near the observations they are sure, far from them the classes are
even again. A support vector machine says nothing of the kind.
"""

import matplotlib.pyplot as plt

import kilogram as kg

X, y = kg.make_two_moons(100, random_state=0)
model = kg.GaussianProcessClassifier(10.0 * kg.Gaussian(0.7), optimizer=None).fit(X, y)
kg.DecisionBoundaryDisplay.from_estimator(model, X, y, response_method="predict_proba", eps=1.5)
plt.show()
