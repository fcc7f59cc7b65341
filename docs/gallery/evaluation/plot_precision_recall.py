"""
Few positives: precision and recall
===================================

One row in twenty is positive. A ROC curve looks good even for a poor detector; precision shows
how many alarms are false.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import make_classification
from sklearn.model_selection import train_test_split

import kilogram as kg

X, y = make_classification(2000, n_features=8, weights=[0.95], flip_y=0.02, random_state=1)
X_train, X_test, y_train, y_test = train_test_split(X, y, stratify=y, random_state=0)
model = kg.LogisticRegression().fit(X_train, y_train)
figure, axes = plt.subplots(1, 2, figsize=(9.5, 4.6), layout="constrained")
kg.RocCurveDisplay.from_estimator(model, X_test, y_test, ax=axes[0], n_bootstrap=100)
kg.PrecisionRecallDisplay.from_estimator(model, X_test, y_test, ax=axes[1], n_bootstrap=100)
plt.show()
