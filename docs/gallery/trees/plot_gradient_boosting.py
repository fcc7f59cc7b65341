"""
Gradient boosting stops in time
===============================

Every round adds a small tree that fits the residuals. The score on rows kept aside stops rising
long before that on the training rows, and early stopping ends the fit there.
"""

import matplotlib.pyplot as plt
import numpy as np

import kilogram as kg

rng = np.random.default_rng(0)
X = rng.uniform(0, 1, (1000, 10))
y = 10 * np.sin(np.pi * X[:, 0] * X[:, 1]) + 20 * (X[:, 2] - 0.5) ** 2 + 10 * X[:, 3]
y += 2 * rng.standard_normal(1000)
model = kg.HistGradientBoostingRegressor(
    max_iter=300, learning_rate=0.1, early_stopping=True, n_iter_no_change=30, random_state=0
).fit(X, y)
kg.LossCurveDisplay.from_estimator(model)
plt.title(f"stopped after {model.n_iter_} rounds", loc="left")
plt.show()
