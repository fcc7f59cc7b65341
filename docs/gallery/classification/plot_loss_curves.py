"""
Loss of a network by learning rate
==================================

Too small a rate is slow, too large a one jumps about. `LossCurveDisplay` draws what the fit
recorded.
"""

import warnings

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits

import kilogram as kg

X, y = load_digits(return_X_y=True)
models = {}
for rate in (1e-4, 1e-3, 1e-2, 1e-1):
    model = kg.MLPClassifier((30,), learning_rate_init=rate, max_iter=30, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # thirty epochs are not enough, which is the point
        models[f"rate {rate:g}"] = model.fit(X / 16, y)
kg.LossCurveDisplay.from_estimator(models).ax_.set_yscale("log")
plt.show()
