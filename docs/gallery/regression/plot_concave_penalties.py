"""
Lasso is biased, MCP is not
===========================

The lasso shrinks large coefficients as much as small ones. The concave penalties MCP and SCAD
leave large ones alone: the same features, without the bias.
"""

import matplotlib.pyplot as plt
import numpy as np

import kilogram as kg

rng = np.random.default_rng(0)
truth = np.zeros(40)
truth[:5] = 4.0, -3.0, 2.5, -2.0, 1.5
X = rng.standard_normal((120, 40))
y = X @ truth + rng.standard_normal(120)

models = {
    "truth": truth,
    "lasso": kg.Lasso(alpha=0.4).fit(X, y).coef_,
    "MCP": kg.ConcaveRegressor(alpha=0.4, penalty="mcp").fit(X, y).coef_,
}
figure, ax = plt.subplots(layout="constrained")
colours = "#2b2b33", "#D55E00", "#0072B2"
for k, ((name, coef), colour) in enumerate(zip(models.items(), colours)):
    ax.bar(np.arange(8) + 0.27 * (k - 1), coef[:8], width=0.25, color=colour, label=name)
    print(f"{name}: {np.sum(coef != 0)} coefficients are not zero")
ax.axhline(0, color="#8a8a96", lw=0.8)
ax.set(xlabel="feature", ylabel="coefficient")
ax.legend(frameon=False)
plt.show()
