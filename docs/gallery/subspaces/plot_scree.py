"""
How many components?
====================

Thirteen measurements of wine: five components explain four fifths of their variance. The scree
plot has the fraction of each, and their sum.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_wine

import kilogram as kg

X, _ = load_wine(return_X_y=True)
model = kg.PCA().fit((X - X.mean(axis=0)) / X.std(axis=0))
kg.ScreeDisplay.from_estimator(model, threshold=0.8)
plt.show()
