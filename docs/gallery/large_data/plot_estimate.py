"""
What a fit will cost, before it starts
======================================

`kg.estimate` says how long a fit takes and how much memory it needs. The exact kernel ridge
grows with the square and the cube of the rows; random features grow with the rows.
"""

import matplotlib.pyplot as plt

import kilogram as kg

sizes = [500, 1_000, 2_000, 5_000, 10_000]
models = {
    "KernelRidge, exact": kg.KernelRidge(kernel="rbf", solver="cholesky"),
    "KitchenSinksRegressor": kg.KitchenSinksRegressor(n_components=500),
    "Ridge": kg.Ridge(),
}
figure, ax = plt.subplots(layout="constrained")
for name, model in models.items():
    memory = [kg.estimate(model, n=n, d=30).bytes / 2**20 for n in sizes]
    ax.loglog(sizes, memory, "o-", label=name)
ax.set(xlabel="rows", ylabel="memory of the fit (MiB)")
ax.legend(frameon=False)
plt.show()
print(kg.estimate(kg.KernelRidge(kernel="rbf"), n=500_000, d=30))
