"""Input that makes no problem, over the classes that take rows of any size: it is refused."""

import dask.array as da
import numpy as np
import pytest
import scipy.sparse as sp
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


def test_more_centres_than_rows_are_refused():
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
    kg.ClassicalMDS(),
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
    ("DensityTree", ("min_samples_leaf", "min_density", "min_width", "epsilon", "min_fraction")),
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
    with pytest.raises(ValueError, match=f"{param} must be .* got inf"):
        getattr(kg, name)(**{param: np.inf}).fit(X)


@pytest.mark.parametrize(
    ("model", "match"),
    [
        (kg.KernelRidge(kernel=lambda a, b: a @ b, kernel_params=[1]), "kernel_params must be"),
        (kg.KernelPCA(kernel="rbf", kernel_params="gamma"), "kernel_params must be"),
        (kg.FastICA(fun_args=3), "fun_args must be"),
        (kg.KMedoids(2, metric_params=[("p", 2)]), "metric_params must be"),
    ],
    ids=lambda v: v if isinstance(v, str) else type(v).__name__,
)
def test_arguments_by_name_come_in_a_dict(model, match):
    with pytest.raises(TypeError, match=match):
        model.fit(X, TARGETS)


@pytest.mark.parametrize("bins", [1.5, None, True, [4, 2.5, 3], [4, 4]])
def test_bins_that_are_no_number_of_bins(bins):
    for model in (kg.HistogramDensity(bins), kg.CopulaDensity(bins), kg.HistogramNB(bins)):
        with pytest.raises(ValueError, match="bins"):
            model.fit(X, LABELS)


@pytest.mark.parametrize("name", ["CopulaDensity", "CopulaClassifier", "HistogramNB"])
@pytest.mark.parametrize("param", ["alpha", "max_bins"])
@pytest.mark.parametrize("value", ["many", None, [1, 2], 0, np.nan])
def test_parameters_of_histograms_that_are_no_numbers(name, param, value):
    with pytest.raises(ValueError, match=f"{param} must be"):
        getattr(kg, name)(**{param: value}).fit(X, LABELS)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("name", ["SpectralClustering", "LaplacianEigenmaps"])
def test_affinities_that_are_not_symmetric_are_refused(name, sparse):
    A = np.exp(-((X[:, None] - X) ** 2).sum(axis=2))
    A[3, 7] += 0.5
    model = getattr(kg, name)(affinity="precomputed")
    with pytest.raises(ValueError, match="symmetric"):
        model.fit(sp.csr_array(A) if sparse else A)
    A[7, 3] += 0.5
    model.fit(sp.csr_array(A) if sparse else A)


def test_the_number_of_sources_does_not_depend_on_the_size_of_the_weights():
    """It was the sum of the weights, where that is less than the number of columns."""
    want = kg.FastICA(random_state=0).fit(X).components_
    for size in (0.01, 1e-30):
        got = kg.FastICA(random_state=0).fit(X, sample_weight=np.full(40, size)).components_
        np.testing.assert_allclose(got, want, rtol=1e-6)


VARIED = [
    kg.PCA(2), kg.KernelPCA(2), kg.FastICA(2, random_state=0), kg.MultiviewCCA(1), kg.CCA(1),
    kg.KMeans(2, random_state=0), kg.GaussianMixture(2, random_state=0),
    kg.KLines(2, random_state=0), kg.AgglomerativeClustering(2), kg.ClassicalMDS(), kg.Isomap(),
]  # fmt: skip


@pytest.mark.parametrize("model", VARIED, ids=lambda model: type(model).__name__)
@pytest.mark.parametrize("scale", [1e-200, 1e-310])
@pytest.mark.filterwarnings("ignore")
def test_rows_whose_squares_underflow_are_refused(model, scale):
    """They were answered as if all rows were equal, or with NaN."""
    with pytest.raises(ValueError, match="squares underflow float64"):
        clone(model).fit(X * scale, TARGETS)
    clone(model).fit(X * 1e-100, TARGETS)


@pytest.mark.parametrize("name", ["KernelRidgeCV", "KernelKMeans", "KernelCCA", "Isomap"])
@pytest.mark.filterwarnings("ignore")
def test_kernels_of_rows_whose_squares_overflow(name):
    with pytest.raises(ValueError, match=f"{name}: .* squares overflow"):
        getattr(kg, name)().fit(X * 1e200, TARGETS)


def test_sources_of_tiny_float32_rows():
    """Their squares underflow float32, not float64, in which they are summed then."""
    rng = np.random.default_rng(1)
    rows = (rng.laplace(size=(300, 3)) @ rng.standard_normal((3, 3))).astype("f4")
    want = kg.FastICA(random_state=0).fit(rows)
    got = kg.FastICA(random_state=0).fit(rows * np.float32(2.0**-100))
    np.testing.assert_allclose(got.components_ * 2.0**-100, want.components_, rtol=1e-4)
    assert np.isfinite(got.transform(rows * np.float32(2.0**-100))).all()
    with pytest.raises(ValueError, match="Multiply X"):
        kg.FastICA(random_state=0).fit((X * 1e-42).astype("f4"))


def test_embeddings_by_neighbours_do_not_depend_on_the_unit():
    want = kg.LocallyLinearEmbedding(n_neighbors=9).fit(X)
    for far in (2.0**700, 2.0**-700):
        got = kg.LocallyLinearEmbedding(n_neighbors=9).fit(X * far)
        np.testing.assert_allclose(got.embedding_, want.embedding_, atol=1e-6)
        np.testing.assert_allclose(got.transform(X * far), want.embedding_, atol=1e-6)


@pytest.mark.parametrize("kind", ["full", "tied", "diag", "spherical"])
@pytest.mark.parametrize("size", [1e-13, 1e-30, 1e-300, 1e300])
def test_mixtures_see_ratios_of_weights_only(kind, size):
    """Components lost all their rows to a threshold that knew weights of 1 only."""
    model = kg.GaussianMixture(2, covariance_type=kind, random_state=0)
    want, got = clone(model).fit(X), clone(model).fit(X, sample_weight=np.full(40, size))
    np.testing.assert_allclose(got.means_, want.means_, rtol=1e-6)
    np.testing.assert_allclose(got.weights_, want.weights_, rtol=1e-6)
    single = clone(model).fit(X.astype("f4"), sample_weight=np.full(40, 1e-13))
    np.testing.assert_allclose(single.means_, want.means_, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("size", [1e-300, 1e300])
def test_spectral_clusters_see_ratios_of_weights_only(size):
    rows = np.vstack([X, X + 9.0])
    got = kg.SpectralClustering(2, random_state=0).fit(rows, sample_weight=np.full(80, size))
    np.testing.assert_array_equal(got.labels_ != got.labels_[0], np.arange(80) >= 40)


def test_agreement_of_views_that_do_not_vary():
    with pytest.raises(ValueError, match="view 0 is constant"):
        kg.MultiviewCCA(1).fit(np.ones((20, 4)))
    found = kg.MultiviewCCA(1, alpha=0.1).fit(np.ones((20, 4)))
    np.testing.assert_array_equal(found.correlations_, 0.0)


def test_the_density_of_a_flat_pca_says_why_there_is_none():
    flat = np.column_stack([X, np.ones(40)])
    with pytest.raises(np.linalg.LinAlgError, match="1 direction"):
        kg.PCA().fit(flat).score_samples(flat)
    assert np.isfinite(kg.PCA(2).fit(flat).score_samples(flat)).all()


@pytest.mark.parametrize("name", ["CCA", "MultiviewCCA", "RadialBasisFeatures", "Nystroem"])
@pytest.mark.parametrize(("dtype", "scale"), [("float64", 1e200), ("float32", 1e30)])
@pytest.mark.filterwarnings("ignore")
def test_overflow_is_reported_before_lapack_fails(name, dtype, scale):
    """LAPACK said that eigenvalues did not converge, or the features were NaN."""
    model = getattr(kg, name)(n_components=1) if "CCA" in name else getattr(kg, name)()
    with pytest.raises(ValueError, match=f"{name}: .* squares overflow {dtype}"):
        model.fit((X * scale).astype(dtype), TARGETS.astype(dtype))


@pytest.mark.parametrize("name", ["CCA", "KernelCCA"])
@pytest.mark.filterwarnings("ignore")
def test_targets_whose_squares_overflow(name):
    with pytest.raises(ValueError, match="values of y are finite"):
        getattr(kg, name)(1).fit(X, TARGETS * 1e200)


def test_classes_in_which_nothing_varies_are_predicted_by_their_priors():
    """An index error, where neither columns nor classes vary."""
    y = np.arange(40) % 4 == 0
    model = kg.LinearDiscriminantAnalysis().fit(np.ones((40, 3)), y)
    np.testing.assert_allclose(model.predict_proba(np.ones((2, 3))), [[0.75, 0.25]] * 2)
    assert model.transform(np.ones((2, 3))).shape == (2, 0)


def test_bins_of_subnormal_width():
    model = kg.HistogramNB(4).fit(X * 1e-310, LABELS)
    want = kg.HistogramNB(4).fit(X, LABELS).predict(X)
    assert np.isfinite(model.predict_proba(X * 1e-310)).all()
    assert np.mean(model.predict(X * 1e-310) == want) > 0.9


def test_rows_far_from_a_pca_are_impossible_not_nan():
    found = kg.PCA(2).fit(X).score_samples(X * 1e200)
    np.testing.assert_array_equal(found, -np.inf)


def test_new_rows_far_from_an_embedding():
    found = kg.LocallyLinearEmbedding(n_neighbors=9).fit(X).transform(X * 1e200)
    assert np.isfinite(found).all()
    with pytest.raises(ValueError, match=r"Isomap: .* squares overflow"):
        kg.Isomap(n_neighbors=9).fit(X).transform(X * 1e200)


@pytest.mark.parametrize("name", ["CopulaDensity", "CopulaClassifier"])
def test_copulas_at_the_ends_of_the_floats(name):
    model = getattr(kg, name)(bins=4, tree=kg.DensityTree(min_samples_leaf=8))
    found = clone(model).fit(X * 1e-310, LABELS)
    answer = found.score_samples if name == "CopulaDensity" else found.predict_proba
    assert np.isfinite(answer(X * 1e-310)).all()
    clone(model).fit(X, LABELS, sample_weight=np.geomspace(1e-30, 1e30, 40))


def test_one_huge_weight_leaves_directions_to_discriminants():
    """A variance below 0 by rounding, and a word of LAPACK on eigenvalues."""
    w = np.r_[1e18, np.ones(39)]
    model = kg.LinearDiscriminantAnalysis().fit(X, LABELS, sample_weight=w)
    assert np.isfinite(model.decision_function(X)).all()


@pytest.mark.parametrize(("scale", "match"), [(1e200, "overflow"), (1e-200, "underflow")])
def test_widths_of_rows_without_squares(scale, match):
    """No row was where the density is: all of them had probability 0."""
    model = kg.KernelDensity(bandwidth="silverman", standardize=True)
    with pytest.raises(ValueError, match=f"squares {match}"):
        clone(model).fit(X * scale)
    assert np.isfinite(clone(model).fit(X * scale**0.5).score_samples(X * scale**0.5)).all()
    assert np.isfinite(
        kg.KernelDensity(bandwidth=scale).fit(X * scale).score_samples(X * scale)
    ).all()
