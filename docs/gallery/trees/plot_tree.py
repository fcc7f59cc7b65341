"""
A tree, drawn
=============

A classification tree of depth two tells the three irises apart with three questions.
`plot_tree` draws it, `export_text` writes it.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_iris

import kilogram as kg

table = load_iris(as_frame=True)
model = kg.DecisionTreeClassifier(max_depth=2, random_state=0).fit(table.data, table.target)
figure, ax = plt.subplots(figsize=(7, 4), layout="constrained")
kg.plot_tree(model, class_names=table.target_names, ax=ax)
plt.show()
print(kg.export_text(model))
