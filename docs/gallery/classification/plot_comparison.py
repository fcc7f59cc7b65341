"""
Nine classifiers on three data sets
===================================

No method is best everywhere. The number is the accuracy on rows left out.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import make_blobs, make_circles
from sklearn.model_selection import train_test_split

import kilogram as kg

data = (
    kg.make_two_moons(160, noise=0.25, random_state=0),
    make_circles(160, noise=0.12, factor=0.5, random_state=1),
    make_blobs(160, centers=2, cluster_std=2.0, random_state=3),
)
models = {
    "logistic": kg.LogisticRegression(),
    "SVC": kg.SVC(C=10.0),
    "kernel Fisher": kg.KernelFisherDiscriminant(kernel="rbf"),
    "QDA": kg.QuadraticDiscriminantAnalysis(),
    "naive Bayes": kg.GaussianNB(),
    "5 neighbours": kg.KNeighborsClassifier(5),
    "tree": kg.DecisionTreeClassifier(max_depth=4, random_state=0),
    "forest": kg.RandomForestClassifier(50, random_state=0),
    "network": kg.MLPClassifier((20,), solver="lbfgs", alpha=0.1, max_iter=500, random_state=0),
}
figure, axes = plt.subplots(3, 9, figsize=(17, 6), layout="constrained")
for row, (X, y) in zip(axes, data):
    X, X_test, y, y_test = train_test_split(X, y, random_state=0)
    for ax, (name, model) in zip(row, models.items()):
        model.fit(X, y)
        kg.DecisionBoundaryDisplay.from_estimator(
            model, X, y, ax=ax, grid_resolution=70, margins=False
        )
        ax.get_legend().remove()
        for rings in ax.collections[-1:] if name == "SVC" else ():
            rings.remove()
        ax.set(xticks=[], yticks=[], xlabel="", ylabel="")
        ax.set_title(f"{name} {model.score(X_test, y_test):.2f}", fontsize=9)
plt.show()
