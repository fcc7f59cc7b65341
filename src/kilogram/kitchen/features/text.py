"""Text as numbers: terms counted or hashed, weighted, and compressed to a few dense columns.

terms      words, word n-grams up to n, or character n-grams up to n; the most frequent V
hashing    bucket = hash(term) mod B: no dictionary and one pass, but terms may share a bucket
counts     c_td, how often term t stands in document d
binary     1 if it does
plain      c_td ln(n / df_t)                          tf-idf as the slides print it
smooth     c_td (ln((1 + n) / (1 + df_t)) + 1)        tf-idf as their code computes it,
                                                      rows to length 1
sublinear  the same with 1 + ln c_td in place of c_td: a word said ten times is not ten words
compressed the leading components of the weighted matrix (latent semantic analysis), scaled so
           that the first has spread 1
"""

from __future__ import annotations

from collections import OrderedDict
from hashlib import sha256
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer
from sklearn.preprocessing import normalize
from sklearn.utils.validation import check_is_fitted

from kilogram.functions.encodings import idf_plain, idf_smooth
from kilogram.kitchen.features.word_counts import count_words

WEIGHTS = ("counts", "binary", "plain", "smooth", "sublinear")
Counted = tuple[list[str], sp.csr_array]
# The last counts: linear and kernel recipe count the same terms of the same documents.
_COUNTED: OrderedDict[str, Counted] = OrderedDict()
_HELD, _LARGEST = 4, 5_000_000


class TermCounts(TransformerMixin, BaseEstimator):
    """Documents to a sparse matrix of term counts.

    Parameters
    ----------
    analyzer : {"word", "char", "char_wb"}, default="word"
    n : int, default=1
        Terms are all sequences of 1 to n words or characters.
    max_terms : int, default=20000
        The most frequent so many terms are kept.
    min_documents : int, default=1
        Terms in fewer documents are left out.
    buckets : int, default=None
        Hash the terms into so many columns instead of keeping a dictionary.
    stop_words : list of str or "english", default=None

    Attributes
    ----------
    terms_ : the dictionary, one term per line; empty when hashing

    Examples
    --------
    >>> from kilogram.kitchen.features import TermCounts
    >>> counts = TermCounts().fit(["the cat", "the dog and the cat"])
    >>> counts.get_feature_names_out()
    array(['and', 'cat', 'dog', 'the'], dtype=object)
    >>> counts.transform(["the cat and the cat"]).toarray()
    array([[1., 2., 0., 2.]])
    """

    def __init__(
        self,
        analyzer: str = "word",
        n: int = 1,
        *,
        max_terms: int = 20_000,
        min_documents: int = 1,
        buckets: int | None = None,
        stop_words: Any = None,
    ):
        self.analyzer = analyzer
        self.n = n
        self.max_terms = max_terms
        self.min_documents = min_documents
        self.buckets = buckets
        self.stop_words = stop_words

    def fit(self, X: Any, y: Any = None) -> Self:
        self.fit_transform(X, y)
        return self

    def fit_transform(self, X: Any, y: Any = None) -> sp.csr_array:
        """Terms found and counted in one reading of the documents."""
        self.terms_ = ""
        if self.buckets is not None:
            return self.transform(X)
        documents = self._documents(X)
        key = _key(repr(self.get_params()), documents)
        if key not in _COUNTED:
            _remember(key, self._counted(documents))
        terms, counts = _COUNTED[key]
        self.terms_ = "\n".join(terms)
        # of blanks and signs alone there is no term at all
        return counts.copy() if terms else self.transform(X)

    def _counted(self, documents: list[str]) -> Counted:
        least = min(self.min_documents, len(documents))
        if self.analyzer == "word" and not self.stop_words:
            return count_words(documents, self.n, least=least, most=self.max_terms)
        counter = CountVectorizer(**self._settings(), min_df=least, max_features=self.max_terms)
        try:
            counts = counter.fit_transform(documents)
        except ValueError:  # no term at all
            return [], sp.csr_array((len(documents), 0))
        return list(counter.get_feature_names_out()), sp.csr_array(counts, dtype=np.float64)

    def transform(self, X: Any) -> sp.csr_array:
        check_is_fitted(self, "terms_")
        documents = self._documents(X)
        if self.buckets is not None:
            hashed = HashingVectorizer(**self._settings(), n_features=self.buckets, norm=None,
                                       alternate_sign=False)  # fmt: skip
            return sp.csr_array(hashed.transform(documents))
        if not self.terms_:
            return sp.csr_array((len(documents), 1))
        counter = CountVectorizer(**self._settings(), vocabulary=self.terms_.split("\n"))
        return sp.csr_array(counter.transform(documents), dtype=np.float64)

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """The terms in the order of the columns; hashed columns have no names to give back."""
        check_is_fitted(self, "terms_")
        if self.buckets is not None:
            raise ValueError("hashed terms have no names; use a dictionary (buckets=None).")
        return np.asarray(self.terms_.split("\n"), dtype=object)

    def _documents(self, X: Any) -> list[str]:
        """The documents; across lines a blank stands for the end of one, as for many blanks.

        Terms are kept one per line, so that none may hold an end of line itself.
        """
        documents = _documents(X)
        if self.analyzer != "char":
            return documents
        return [document.replace("\n", " ") for document in documents]

    def _settings(self) -> dict[str, Any]:
        return {
            "analyzer": self.analyzer,
            "ngram_range": (1, self.n),
            "stop_words": self.stop_words if self.analyzer == "word" else None,
        }


class TermWeights(TransformerMixin, BaseEstimator):
    """Term counts to weights.

    Parameters
    ----------
    formula : {"counts", "binary", "plain", "smooth", "sublinear"}, default="smooth"
        "counts" keeps the counts c; "binary" has 1 where a term stands; "plain" is c ln(n / df) of
        n documents, df of which have the term; "smooth" is c (ln((1 + n) / (1 + df)) + 1) with rows
        of length 1, and "sublinear" the same with 1 + ln c in place of c.

    Examples
    --------
    >>> import numpy as np
    >>> from kilogram.kitchen.features import TermWeights
    >>> TermWeights("binary").fit_transform(np.array([[2.0, 0.0], [1.0, 3.0]])).toarray()
    array([[1., 0.],
           [1., 1.]])
    """

    def __init__(self, formula: str = "smooth"):
        self.formula = formula

    def fit(self, X: Any, y: Any = None) -> Self:
        if self.formula not in WEIGHTS:
            raise ValueError(f"formula must be one of {', '.join(WEIGHTS)}; got {self.formula!r}.")
        df = np.asarray((sp.csr_array(X) != 0).sum(axis=0)).reshape(-1)
        n = X.shape[0]
        if self.formula == "plain":
            self.idf_ = np.where(df > 0, idf_plain(np.maximum(df, 1), n), 0.0)
        elif self.formula in ("smooth", "sublinear"):
            self.idf_ = idf_smooth(df, n)
        else:
            self.idf_ = np.ones(len(df))
        return self

    def transform(self, X: Any) -> sp.csr_array:
        check_is_fitted(self, "idf_")
        X = sp.csr_array(X, dtype=np.float64, copy=True)
        if self.formula == "binary":
            X.data[:] = 1.0
        if self.formula == "sublinear":
            X.data = 1.0 + np.log(np.maximum(X.data, 1.0))
        X = sp.csr_array(X.multiply(self.idf_[None, :]))
        return normalize(X) if self.formula in ("smooth", "sublinear") else X


class DenseComponents(TransformerMixin, BaseEstimator):
    """A sparse matrix as `n_components` dense columns; fewer columns than that stay as they are."""

    def __init__(self, n_components: int = 100, random_state: int = 0):
        self.n_components = n_components
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> Self:
        self.fit_transform(X, y)
        return self

    def fit_transform(self, X: Any, y: Any = None) -> np.ndarray:
        self.svd_ = None
        if min(X.shape) > self.n_components:
            # two iterations: more change only the last components, and no score was seen to improve
            self.svd_ = TruncatedSVD(self.n_components, n_iter=2, random_state=self.random_state)
            self.svd_.fit(X)
        Z = self._plain(X)
        self.scale_ = float(Z.std(axis=0).max()) or 1.0
        return Z / self.scale_

    def transform(self, X: Any) -> np.ndarray:
        check_is_fitted(self, "scale_")
        return self._plain(X) / self.scale_

    def _plain(self, X: Any) -> np.ndarray:
        if self.svd_ is not None:
            return self.svd_.transform(X)
        return X.toarray() if sp.issparse(X) else np.asarray(X)


def _key(settings: str, documents: list[str]) -> str:
    digest = sha256(settings.encode())
    for document in documents:
        digest.update(document.encode("utf-8", "surrogatepass"))
        digest.update(b"\0")
    return digest.hexdigest()


def _remember(key: str, counted: Counted) -> None:
    """Keep the last few; a large one alone."""
    _COUNTED[key] = counted
    held = 1 if counted[1].nnz > _LARGEST else _HELD
    while len(_COUNTED) > held:
        _COUNTED.popitem(last=False)


def _documents(X: Any) -> list[str]:
    """A column of text as a list; missing cells are empty documents."""
    cells = np.asarray(X, dtype=object).reshape(-1)
    return ["" if cell is None or cell != cell else str(cell) for cell in cells]
