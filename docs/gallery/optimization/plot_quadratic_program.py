"""
A quadratic programme and its active constraint
===============================================

The ellipses are level curves of a quadratic function, the triangle is where all three constraints
hold. The unconstrained minimum lies outside, so the optimum is on an edge: that constraint is
active, and its multiplier is positive.
"""

import matplotlib.pyplot as plt
import numpy as np

import kilogram as kg

P, q = np.array([[2.0, 0.6], [0.6, 1.0]]), np.array([-4.0, -3.0])
G, h = np.array([[1.0, 1.0], [-1.0, 0.0], [0.0, -1.0]]), np.array([2.0, 0.0, 0.0])
found = kg.solve_quadratic_program(P, q, G, h)
x = found.x

a, b = np.meshgrid(np.linspace(-0.5, 3, 200), np.linspace(-0.5, 4, 200))
value = P[0, 0] * a**2 / 2 + P[0, 1] * a * b + P[1, 1] * b**2 / 2 + q[0] * a + q[1] * b
figure, ax = plt.subplots(figsize=(5.2, 4.4), layout="constrained")
ax.contour(a, b, value, 18, colors="#9a9aa6", linewidths=0.8, linestyles="-")
ax.fill([0, 2, 0], [0, 0, 2], color="#0072B2", alpha=0.25, lw=0, label="allowed")
ax.plot(*x, "o", color="#D55E00", ms=9, label=f"optimum ({x[0]:.2f}, {x[1]:.2f})")
ax.set(xlabel="$x_1$", ylabel="$x_2$")
ax.legend(framealpha=1, edgecolor="none", loc="upper right")
plt.show()
