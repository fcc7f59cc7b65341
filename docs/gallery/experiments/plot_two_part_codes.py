"""
Learning as compression, and a guessing game
============================================

A picture is sent pixel by pixel, or as a rule and the pixels where the rule fails. The cheapest
total tells which rules are worth stating: an edge that is there pays, one that is not costs. The
same structure pays in a game in which covered pixels are guessed one by one: a blank picture is
guessed perfectly, noise like a coin, a drawing between them.
"""

import matplotlib.pyplot as plt
import numpy as np

from kilogram.textbook.state import run
from kilogram.textbook.two_part_codes import guessing, picture

SIDE = 16
blank = np.zeros((SIDE, SIDE), dtype=int)
drawing = np.repeat((np.arange(SIDE) >= 8).astype(int)[:, None], SIDE, axis=1)
drawing.flat[[103, 245]] ^= 1
noise = np.random.default_rng(0).integers(2, size=(SIDE, SIDE))
models = [(), *((row,) for row in range(1, SIDE)), (8, 12)]
names = ["raw", "no edge", *(f"edge {row}" for row in range(1, SIDE)), "edges 8, 12"]

figure, axes = plt.subplots(2, 3, figsize=(12, 7), layout="constrained")
for column, (name, pixels) in zip(
    axes.T, [("blank", blank), ("drawing", drawing), ("noise", noise)], strict=True
):
    code = run(picture(pixels, models))
    game = run(guessing(pixels))
    total = np.add(code["L"], code["c"])
    best = int(total.argmin())
    print(f"{name:8s} {names[best]:8s} {total[best]:4.0f} bits, {game['dollars']} of 256 guessed")
    column[0].imshow(pixels, cmap="gray_r", vmin=0, vmax=1)
    missed = np.argwhere(~game["hits"])
    column[0].scatter(missed[:, 1], missed[:, 0], s=8, color="tab:red", label="wrong")
    column[0].set_title(f"{name}: {game['dollars']} of 256 pixels guessed")
    column[0].set(xticks=[], yticks=[])
    column[1].bar(range(len(total)), code["L"], label="model")
    column[1].bar(range(len(total)), code["c"], bottom=code["L"], label="corrections")
    column[1].set_xticks(range(len(total)), names, rotation=90)
    column[1].set(ylabel="bits", title=f"cheapest: {names[best]}, {total[best]:.0f} bits")
axes[0, 1].legend(loc="upper left")
axes[1, 0].legend()
plt.show()
