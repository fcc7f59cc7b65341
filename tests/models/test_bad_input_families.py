"""Input that makes no problem, over the classes that take rows of any size: it is refused."""

import dask.array as da
import numpy as np
import pytest
from sklearn.base import clone

import kilogram as kg

RNG = np.random.default_rng(0)
X = RNG.standard_normal((40, 3))
LABELS, TARGETS = (X[:, 0] > 0).astype(int), X @ [1.0, 2.0, 3.0]
CLASSIFIERS = [
    "LogisticRegression", "LinearDiscriminantAnalysis", "QuadraticDiscriminantAnalysis",
    "GaussianNB", "NearestCentroid", "FisherDiscriminant", "LinearSVC", "SVC", "Perceptron",
    "Adaline", "OnlineClassifier",
]  # fmt: skip
REGRESSORS = ["LinearRegression", "Ridge", "LinearSVR", "SVR"]


def targets(name):
    return TARGETS if name in REGRESSORS else LABELS


@pytest.mark.parametrize("name", CLASSIFIERS + REGRESSORS)
@pytest.mark.filterwarnings("ignore")
def test_squares_that_overflow_are_refused_with_advice(name):
    with pytest.raises(ValueError, match="StandardScaler"):
        getattr(kg, name)().fit(1e200 * X, targets(name))


@pytest.mark.parametrize("name", CLASSIFIERS + REGRESSORS)
@pytest.mark.filterwarnings("ignore")
def test_large_values_whose_squares_do_not_overflow_are_served(name):
    model = getattr(kg, name)()
    if "random_state" in model.get_params():
        model.set_params(random_state=0)  # a run over shuffled rows is not the same twice without
    model.fit(1e100 * X, targets(name))
    assert model.score(1e100 * X, targets(name)) > 0.65


@pytest.mark.parametrize("name", [n for n in CLASSIFIERS + REGRESSORS if "SV" not in n])
def test_weights_of_zero_on_dask(name):
    rows = [da.from_array(a, chunks=10) for a in (X, targets(name))]
    with pytest.raises(ValueError, match="weights are zero"):
        getattr(kg, name)().fit(*rows, sample_weight=da.zeros(40, chunks=10))


@pytest.mark.parametrize("name", ["Perceptron", "Adaline", "LogisticRegression", "GaussianNB"])
def test_weights_that_dask_does_not_lay_out(name):
    rows = [da.from_array(a, chunks=10) for a in (X, LABELS)]
    model = getattr(kg, name)().fit(*rows, sample_weight=da.ones(40, chunks=10))
    assert model.score(X, LABELS) > 0.8


@pytest.mark.parametrize(
    "params", [{"n_jobs": 0}, {"n_jobs": 1.5}, {"tol": -1}, {"tol": np.nan}, {"tol": "small"}]
)
def test_numbers_of_least_squares(params):
    with pytest.raises(ValueError, match=f"{next(iter(params))} must be"):
        kg.LinearRegression(**params).fit(X, TARGETS)


def test_more_centres_than_rows_are_said():
    with pytest.warns(UserWarning, match="centers=100"):
        found = kg.RadialBasisFeatures(100).fit_transform(X)
    assert found.shape == (40, 41)


SQUARED = [
    kg.KMeans(2, random_state=0),
    kg.GaussianMixture(2, random_state=0),
    kg.GaussianMixture(2, covariance_type="tied", random_state=0),
    kg.KLines(2, random_state=0),
    kg.AgglomerativeClustering(2),
    kg.AgglomerativeClustering(None, distance_threshold=1.0, linkage="single"),
    kg.RobustPCA(),
    kg.MDS(),
    kg.SpectralClustering(2, random_state=0),
    kg.LaplacianEigenmaps(affinity="rbf"),
]


@pytest.mark.parametrize("model", SQUARED, ids=lambda model: type(model).__name__)
def test_rows_whose_squares_overflow_are_refused(model):
    """Finite rows gave NaN, infinite heights, an index error or a word from LAPACK."""
    X = np.random.default_rng(0).normal(size=(30, 3))
    with pytest.raises(ValueError, match="squares overflow float64"):
        clone(model).fit(X * 1e200)
    if type(model).__name__ not in ("KLines", "SpectralClustering", "LaplacianEigenmaps"):
        with pytest.raises(ValueError, match="squares overflow float32"):  # the others work wider
            clone(model).fit((X * 1e30).astype(np.float32))
    clone(model).fit(X * 1e100)


NUMBERS = [
    ("NMF", ("tol", "alpha_W", "alpha_H", "l1_ratio", "forget_factor")),
    ("FastICA", ("tol",)),
    ("RobustPCA", ("tol", "lam")),
    ("LocallyLinearEmbedding", ("reg", "tol")),
    ("HistogramDensity", ("alpha",)),
    ("KernelDensity", ("atol", "rtol")),
    ("DensityTree", ("min_samples_leaf", "min_density", "min_width", "epsilon", "min_share")),
    ("DensityForest", ("max_samples", "min_samples_split")),
    ("KMeans", ("tol", "batch_size")),
    ("GaussianMixture", ("learning_decay",)),
]


@pytest.mark.parametrize(("name", "params"), NUMBERS, ids=lambda v: v if isinstance(v, str) else "")
@pytest.mark.parametrize("value", ["nonsense", [1, 2], -1.0, np.nan])
def test_parameters_that_are_no_numbers_are_named(name, params, value):
    for param in params:
        with pytest.raises(ValueError, match=param):
            getattr(kg, name)(**{param: value}).fit(np.abs(X))


@pytest.mark.parametrize(
    ("name", "param"), [("LocallyLinearEmbedding", "reg"), ("RobustPCA", "lam")]
)
def test_infinite_penalties_are_refused(name, param):
    with pytest.raises(ValueError, match="finite"):
        getattr(kg, name)(**{param: np.inf}).fit(X)
