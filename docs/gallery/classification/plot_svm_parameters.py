"""
C and the width of the kernel
=============================

A narrow kernel can follow every row, a wide one is nearly linear; a large `C` forgives no row
on the wrong side. Both are chosen by cross-validation.
"""

import matplotlib.pyplot as plt

import kilogram as kg

X, y = kg.make_two_moons(120, noise=0.25, random_state=0)
figure, axes = plt.subplots(2, 3, figsize=(11, 6.5), sharex=True, sharey=True, layout="constrained")
for row, C in zip(axes, (0.1, 100.0)):
    for ax, sigma in zip(row, (0.1, 0.5, 3.0)):
        model = kg.SVC(C=C, kernel=kg.Gaussian(sigma=sigma)).fit(X, y)
        kg.DecisionBoundaryDisplay.from_estimator(model, X, y, ax=ax, grid_resolution=120)
        ax.get_legend().remove()
        ax.set_title(
            f"C = {C:g}, sigma = {sigma:g}: {len(model.support_)} support vectors", fontsize=9
        )
        ax.label_outer()
plt.show()
