"""
Stars: four giants turn a line round
====================================

Light and temperature of 47 stars (Rousseeuw and Leroy 1987). Four giants are cool and bright;
they are leverage points, and least squares follows them. The MM-estimate follows the other 43,
and `outlier_report` says what every row is.
"""

import matplotlib.pyplot as plt
import numpy as np

import kilogram as kg

temperature = np.array([
    4.37, 4.56, 4.26, 4.56, 4.30, 4.46, 3.84, 4.57, 4.26, 4.37, 3.49, 4.43, 4.48, 4.01, 4.29, 4.42,
    4.23, 4.42, 4.23, 3.49, 4.29, 4.29, 4.42, 4.49, 4.38, 4.42, 4.29, 4.38, 4.22, 3.48, 4.38, 4.56,
    4.45, 3.49, 4.23, 4.62, 4.53, 4.45, 4.53, 4.43, 4.38, 4.45, 4.50, 4.45, 4.55, 4.45, 4.42,
])[:, None]  # fmt: skip
light = np.array([
    5.23, 5.74, 4.93, 5.74, 5.19, 5.46, 4.65, 5.27, 5.57, 5.12, 5.73, 5.45, 5.42, 4.05, 4.26, 4.58,
    3.94, 4.18, 4.18, 5.89, 4.38, 4.22, 4.42, 4.85, 5.02, 4.66, 4.66, 4.90, 4.39, 6.05, 4.42, 5.10,
    5.22, 6.29, 4.34, 5.62, 5.10, 5.22, 5.18, 5.57, 4.62, 5.06, 5.34, 5.34, 5.54, 4.98, 4.50,
])  # fmt: skip

robust = kg.RobustRegressor(n_starts=500).fit(temperature, light)
squares = kg.LinearRegression().fit(temperature, light)

figure, (left, right) = plt.subplots(1, 2, figsize=(9.5, 3.8), layout="constrained")
left.scatter(temperature, light, s=18, c=np.where(robust.outliers_, "#D55E00", "#2b2b33"))
ends = np.array([[3.4], [4.7]])
left.plot(ends, squares.predict(ends), color="#8a8a96", label="least squares")
left.plot(ends, robust.predict(ends), color="#0072B2", lw=2, label="MM-estimate")
left.set(xlabel="log temperature", ylabel="log light", ylim=(3.5, 6.6))
left.legend(frameon=False)
kg.outlier_report(robust, temperature, light).plot(right)
plt.show()
