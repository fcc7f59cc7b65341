"""
Would more rows help?
=====================

Where the curve of the rows left out still rises, more rows will help; where it is flat, they
will not. The band is the corrected resampled interval.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits

import kilogram as kg
from kilogram.evaluation import learning_curve

X, y = load_digits(return_X_y=True)
model = kg.KNeighborsClassifier(5)
kg.LearningCurveDisplay.from_estimator(model, X, y, cv=5)
print(learning_curve(model, X, y, cv=5).more_rows().sentence)
plt.show()
