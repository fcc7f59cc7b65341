"""
Words that tell spam from mail
==============================

A multinomial model of words: for each class, how often a word is used. The difference of the
logarithms is the weight of the word, and a message is judged by the sum of its words.
"""

import matplotlib.pyplot as plt
import numpy as np

import kilogram as kg

X, y, words = kg.make_spam(random_state=0)
model = kg.MultinomialNB().fit(X[:200], y[:200])
weights = model.feature_log_prob_[1] - model.feature_log_prob_[0]
order = np.argsort(weights)
figure, ax = plt.subplots(layout="constrained")
colours = np.where(weights[order] > 0, "#D55E00", "#0072B2")
ax.barh([words[i] for i in order], weights[order], color=colours)
ax.set_xlabel("log ratio of frequencies: mail (left), spam (right)")
ax.set_title(f"{model.score(X[200:], y[200:]):.0%} of new messages right", loc="left")
plt.show()
