"""
Coefficients with their intervals
=================================

Least squares gives an estimate for every coefficient. `coefficient_table` adds what can be said
about it: standard error, t value, p value and interval. An interval that crosses zero leaves
the sign open.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_diabetes

import kilogram as kg

X, y = load_diabetes(return_X_y=True, as_frame=True)
model = kg.LinearRegression().fit(X, y)
table = kg.coefficient_table(model, X, y)
print(table)

# %%
# Four of the features have an interval that excludes zero; `s1` to `s4` are blood values that
# say much the same.
low, high = table.low[1:], table.high[1:]
colours = ["#0072B2" if a * b > 0 else "#8a8a96" for a, b in zip(low, high)]
figure, ax = plt.subplots(layout="constrained")
ax.hlines(range(10), low, high, colors=colours, lw=3)
ax.scatter(model.coef_, range(10), color=colours, zorder=3)
ax.axvline(0, color="#2b2b33", lw=0.8)
ax.set_yticks(range(10), X.columns)
ax.set_xlabel("coefficient, with its 95 % interval")
plt.show()
