"""Figures of topics.md: topics of newsgroup posts by NMF, and posts coded in few topics by OMP.

Run with KILOGRAM_DATA=folder, the folder that holds newsgroups20_train.csv.gz (columns label and
text); without it the posts are those of scikit-learn's `fetch_20newsgroups`, if it has them.
"""

import os
import warnings
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.datasets import fetch_20newsgroups
from sklearn.feature_extraction.text import TfidfVectorizer

import kilogram as kg

HERE = Path(__file__).parent
GROUPS = ["comp.graphics", "rec.sport.hockey", "sci.med", "sci.space", "talk.politics.mideast",
          "talk.religion.misc"]  # fmt: skip
TOPICS = 8
BLUE, INK = "#1d4ed8", "#2b2b33"


def posts() -> tuple[list[str], np.ndarray]:
    """Texts of six groups, and the group of each."""
    path = Path(os.environ.get("KILOGRAM_DATA", "data")) / "newsgroups20_train.csv.gz"
    if path.exists():
        table = pd.read_csv(path)
        table = table[table["label"].isin(GROUPS)].dropna()
        return table["text"].tolist(), table["label"].to_numpy()
    try:
        found = fetch_20newsgroups(
            categories=GROUPS, remove=("headers", "footers", "quotes"), download_if_missing=False
        )
    except OSError:
        raise SystemExit(
            f"{path} is missing, and scikit-learn has no copy of the 20 newsgroups. Set "
            "KILOGRAM_DATA, or call sklearn.datasets.fetch_20newsgroups() once."
        ) from None
    return found.data, np.array(found.target_names)[found.target]


def codes(X: np.ndarray, topics: np.ndarray, most: int) -> np.ndarray:
    """Every post as a sum of at most `most` topics with positive weights."""
    atoms = (topics / np.linalg.norm(topics, axis=1, keepdims=True)).T
    with warnings.catch_warnings():  # of posts that need fewer topics
        warnings.simplefilter("ignore", RuntimeWarning)
        return kg.orthogonal_mp(atoms, X.T, n_nonzero_coefs=most, positive=True).T


def main() -> None:
    texts, labels = posts()
    words = TfidfVectorizer(max_features=4000, stop_words="english", min_df=5, max_df=0.2,
                            token_pattern=r"(?u)\b[a-z]{3,}\b")  # fmt: skip
    X = words.fit_transform(texts)
    names = np.array(words.get_feature_names_out())
    model = kg.NMF(TOPICS, random_state=0).fit(X)
    H = np.asarray(model.components_)
    few = codes(X.toarray(), H, 2)
    used = (few > 0).sum(axis=1)
    print(f"{X.shape[0]} posts, {X.shape[1]} words; topics of a post: {used.mean():.2f}")
    groups = sorted(set(labels))
    best = few.argmax(axis=1)
    share = np.array([[np.mean(best[labels == g] == k) for k in range(TOPICS)] for g in groups])
    order = np.argsort(share.argmax(axis=0), kind="stable")
    figure, axes = plt.subplots(2, 4, figsize=(12, 5.2), layout="constrained")
    for ax, k in zip(axes.flat, order, strict=True):
        top = np.argsort(H[k])[::-1][:8][::-1]
        ax.barh(names[top], H[k][top] / H[k].max(), color=BLUE)
        ax.set_title(f"topic {np.flatnonzero(order == k)[0] + 1}", fontsize=10)
        ax.set_xticks([])
        ax.spines[["top", "right", "bottom"]].set_visible(False)
        ax.tick_params(labelsize=9)
        print(f"topic {np.flatnonzero(order == k)[0] + 1}:", ", ".join(names[top[::-1]]))
    figure.savefig(HERE / "topics.png", dpi=110)
    figure, ax = plt.subplots(figsize=(7.5, 3.4), layout="constrained")
    image = ax.imshow(share[:, order], cmap="Blues", vmin=0, vmax=1, aspect="auto")
    for i, j in np.ndindex(share.shape):
        value = share[i, order[j]]
        ax.text(j, i, f"{value:.0%}", ha="center", va="center", fontsize=9,
                color="white" if value > 0.5 else INK)  # fmt: skip
    ax.set_xticks(range(TOPICS), [str(k + 1) for k in range(TOPICS)])
    ax.set_yticks(range(len(groups)), groups)
    ax.set(xlabel="strongest topic of a post, by non-negative matching pursuit")
    figure.colorbar(image, label="fraction of the group", format=lambda v, _: f"{v:.0%}")
    figure.savefig(HERE / "codes.png", dpi=110)


if __name__ == "__main__":
    main()
