"""
Where overfitting begins
========================

A narrow Gaussian kernel fits the training rows perfectly and fails on others; a wide one fails
on both.
"""

import matplotlib.pyplot as plt
import numpy as np

import kilogram as kg

X, y = kg.make_two_moons(200, noise=0.3, random_state=0)
kg.ValidationCurveDisplay.from_estimator(
    kg.SVC(C=10.0, kernel=kg.Gaussian()), X, y, param_name="kernel__sigma",
    param_range=np.logspace(-2, 1, 10),
)  # fmt: skip
plt.show()
