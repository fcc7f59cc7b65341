"""
Probabilities one can bet on
============================

Naive Bayes is too sure: where it says 0.99, fewer are positive. Of logistic regression the
points lie on the diagonal.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import make_classification

import kilogram as kg

X, y = make_classification(4000, n_features=12, n_informative=4, n_redundant=6, random_state=0)
ax = None
for model in (kg.GaussianNB(), kg.LogisticRegression()):
    model.fit(X[:1000], y[:1000])
    ax = kg.CalibrationDisplay.from_estimator(model, X[1000:], y[1000:], ax=ax).ax_
plt.show()
