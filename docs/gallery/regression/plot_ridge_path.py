"""
Ridge: coefficients shrink together
===================================

The penalty of ridge regression pulls all coefficients towards zero, and features that are
nearly copies of each other towards each other. `RidgeCV` chooses the penalty by leave-one-out
error, computed in closed form for the whole path.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes

import kilogram as kg

X, y = load_diabetes(return_X_y=True, as_frame=True)
chosen = kg.RidgeCV(alphas=np.logspace(-4, 2, 60)).fit(X, y)
display = kg.CoefficientPathDisplay.from_estimator(
    kg.Ridge(), X, y, param_range=np.logspace(-4, 2, 60)
)
display.ax_.axvline(chosen.alpha_, color="#2b2b33", lw=1, ls="--")
display.ax_.set_title(f"leave-one-out chooses alpha = {chosen.alpha_:.3g}")
plt.show()
