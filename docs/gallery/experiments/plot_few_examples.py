"""
How many examples does a classifier need?
=========================================

A rule of thumb asks for c examples per parameter. A generative model of 20 x 20 pixel digits, ten
classes with a covariance each, would have more than 10 * 20**4 / 2 of them. Vapnik tells of a
perceptron that learned such digits from 512 examples: it needs a boundary, not a density. Here the
same on generated 16 x 16 glyphs. The covariances need a small multiple of the identity to be of use
at all, and serve worst where a class has about as many rows as there are pixels.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.exceptions import ConvergenceWarning

import kilogram as kg

pixels = 16 * 16
print("numbers in ten full covariances:", 10 * pixels * (pixels + 1) // 2)
print("numbers in ten linear machines: ", 10 * (pixels + 1))
X, y = kg.make_digit_glyphs(3000, noise=0.35, random_state=0)
X_test, y_test = X[2000:], y[2000:]
sizes = [64, 128, 256, 512, 1024, 2000]
scores = {"perceptron": [], "full covariances (QDA)": [], "one nearest neighbour": []}
for n in sizes:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # fewer rows than columns, and few epochs: as intended
        warnings.simplefilter("ignore", ConvergenceWarning)
        models = (
            kg.Perceptron(random_state=0),
            kg.QuadraticDiscriminantAnalysis(reg_param=1e-3),
            kg.KNeighborsClassifier(1),
        )
        for name, model in zip(scores, models, strict=True):
            scores[name].append(model.fit(X[:n], y[:n]).score(X_test, y_test))

figure, axes = plt.subplots(1, 2, figsize=(11, 3.6), layout="constrained")
glyphs = X[:40].reshape(4, 10, 16, 16).transpose(0, 2, 1, 3).reshape(64, 160)
axes[0].imshow(glyphs, cmap="gray_r")
axes[0].set_axis_off()
for name, found in scores.items():
    print(f"{name:24s}", np.round(found, 3))
    axes[1].plot(sizes, found, "o-", label=name)
axes[1].axvline(512, color="gray", lw=0.8, ls=":")
axes[1].set(xscale="log", xlabel="training examples", ylabel="accuracy on 1 000 others")
axes[1].set_xticks(sizes, [str(n) for n in sizes])
axes[1].minorticks_off()
axes[1].legend()
plt.show()
