"""
Lasso: features enter one by one
================================

With a strong penalty the lasso has no coefficient left; as it falls, features enter.
Cross-validation chooses where to stop: the dashed line.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_diabetes

import kilogram as kg

X, y = load_diabetes(return_X_y=True, as_frame=True)
chosen = kg.LassoCV(cv=10).fit(X, y)
alphas, coefs, _ = kg.lasso_path((X - X.mean()).to_numpy(), (y - y.mean()).to_numpy())
kg.CoefficientPathDisplay.from_path(
    alphas, coefs, feature_names=list(X.columns), chosen=chosen.alpha_
)
plt.show()

# %%
# The features that are left:
print([name for name, c in zip(X.columns, chosen.coef_) if c != 0])
