"""
Naive Bayes: features taken one at a time
=========================================

Gaussian naive Bayes multiplies a normal density for each feature, as if they were independent.
Its regions are bounded by conics, and it is quickly fitted.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_iris

import kilogram as kg

table = load_iris(as_frame=True)
X = table.data[["sepal length (cm)", "petal length (cm)"]]
y = np.array(table.target_names)[table.target]
model = kg.GaussianNB().fit(X, y)
kg.DecisionBoundaryDisplay.from_estimator(model, X, y, response_method="predict_proba")
plt.show()
