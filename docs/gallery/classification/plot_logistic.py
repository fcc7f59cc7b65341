"""
Logistic regression: probabilities of three classes
===================================================

Softmax regression gives every point of the plane a probability of each class; colours blend by
it.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_iris

import kilogram as kg

table = load_iris(as_frame=True)
X = table.data[["petal length (cm)", "petal width (cm)"]]
y = np.array(table.target_names)[table.target]
model = kg.LogisticRegression().fit(X, y)
kg.DecisionBoundaryDisplay.from_estimator(model, X, y, response_method="predict_proba")
plt.show()
