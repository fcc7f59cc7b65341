"""
Two ROC curves with their uncertainty
=====================================

The bands hold 95 % of bootstrap curves; the interval of the area is DeLong's. Where intervals
overlap, `kilogram.evaluation.compare_auc` tests the difference on the same rows.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

import kilogram as kg

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
few = X[["mean texture", "mean smoothness", "mean symmetry"]]
X_train, X_test, y_train, y_test = train_test_split(few, y, random_state=0)
ax = None
for model in (kg.LogisticRegression(), kg.DecisionTreeClassifier(max_depth=3, random_state=0)):
    model.fit(X_train, y_train)
    display = kg.RocCurveDisplay.from_estimator(model, X_test, y_test, ax=ax, n_bootstrap=100)
    ax = display.ax_
plt.show()
