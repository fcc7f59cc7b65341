"""
What two views share
====================

Two views with five noisy features each have one hidden variable in common. Canonical
correlations find it, on new rows too.
"""

import matplotlib.pyplot as plt
import numpy as np

import kilogram as kg

rng = np.random.default_rng(0)
z = rng.standard_normal((400, 1))
X = z @ rng.standard_normal((1, 5)) + 1.5 * rng.standard_normal((400, 5))
Y = z @ rng.standard_normal((1, 5)) + 1.5 * rng.standard_normal((400, 5))
model = kg.CCA(1).fit(X[:200], Y[:200])
U, V = model.transform(X[200:], Y[200:])
r = np.corrcoef(U[:, 0], V[:, 0])[0, 1]

figure, ax = plt.subplots(figsize=(5, 4.4), layout="constrained")
points = ax.scatter(U, V, c=z[200:, 0], cmap="cividis", s=18)
figure.colorbar(points, label="the hidden variable")
ax.set(xlabel="direction of the first view", ylabel="direction of the second view")
ax.set_title(f"correlation {r:.2f} on new rows", loc="left")
plt.show()
