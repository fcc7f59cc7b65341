"""
Which digits are confused
=========================

Rows are true digits, columns predictions. The errors are not spread evenly:
ones are taken for nines, and twos for threes.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits

import kilogram as kg

X, y = load_digits(return_X_y=True)
model = kg.LinearDiscriminantAnalysis().fit(X[:900], y[:900])
kg.ConfusionMatrixDisplay.from_estimator(model, X[900:], y[900:])
plt.show()
