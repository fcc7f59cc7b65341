"""
A curve and how sure it is
==========================

A Gaussian process predicts a mean and a standard deviation. The band is narrow where there are
observations, and widens where there are none. Its kernel parameters maximise the marginal
likelihood.
"""

import matplotlib.pyplot as plt
import numpy as np

import kilogram as kg

rng = np.random.default_rng(0)
x = np.concatenate([rng.uniform(0, 4, 18), rng.uniform(7, 10, 12)])[:, None]
y = np.sin(x[:, 0]) + 0.15 * rng.standard_normal(30)

model = kg.GaussianProcessRegressor(kg.Gaussian(1.0) + kg.White(0.1)).fit(x, y)
print(model.kernel_)
kg.PredictionBandDisplay.from_estimator(model, x, y, eps=0.2)
plt.show()
