"""Features that are written down: polynomials, bumps, functions of the user."""

import dask.array as da
import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures as SklearnFeatures

import kilogram as kg
from kilogram.models.features import polynomial

rng = np.random.default_rng(0)
X = rng.standard_normal((40, 3))
y = np.sin(X[:, 0]) + X[:, 1] * X[:, 2]


@pytest.mark.parametrize("degree", [0, 1, 2, 4, (2, 3), (1, 1)])
@pytest.mark.parametrize("interaction_only", [False, True])
@pytest.mark.parametrize("include_bias", [True, False])
def test_polynomials_are_sklearns(degree, interaction_only, include_bias):
    params = {
        "degree": degree,
        "interaction_only": interaction_only,
        "include_bias": include_bias,
    }
    if degree == 0 and not include_bias:
        with pytest.raises(ValueError, match="no features"):
            kg.PolynomialFeatures(**params).fit(X)
        return
    want, got = SklearnFeatures(**params).fit(X), kg.PolynomialFeatures(**params).fit(X)
    np.testing.assert_allclose(got.transform(X), want.transform(X), rtol=1e-14)
    np.testing.assert_array_equal(got.powers_, want.powers_)
    assert list(got.get_feature_names_out()) == list(want.get_feature_names_out())
    thin = sp.csr_array(np.where(X > 0, X, 0.0))
    assert sp.issparse(got.transform(thin))
    np.testing.assert_allclose(got.transform(thin).toarray(), got.transform(thin.toarray()))


@pytest.mark.parametrize("degree", [1, 2, 3])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_weighted_monomials_are_the_kernel(degree, form):
    Z = kg.PolynomialFeatures(degree, weights="kernel").fit_transform(form(X))
    K = np.asarray((Z @ Z.T).toarray() if sp.issparse(Z) else Z @ Z.T)
    np.testing.assert_allclose(
        K, kg.Polynomial(degree, gamma=1.0, coef0=1.0)(X), rtol=1e-12, atol=1e-12
    )
    if form is np.asarray:  # so ridge on them is kernel ridge
        linear = kg.Ridge(0.3, fit_intercept=False).fit(Z, y).predict(Z)
        kernel = kg.KernelRidge(0.3, kernel=kg.Polynomial(degree, gamma=1.0, coef0=1.0))
        np.testing.assert_allclose(kernel.fit(X, y).predict(X), linear, atol=1e-9)


def test_polynomial_regression_from_every_container(tmp_path):
    model = make_pipeline(kg.PolynomialFeatures(2), kg.LinearRegression(fit_intercept=False))
    want = model.fit(X, y)[-1].coef_.copy()
    for rows in (da.from_array(X, chunks=(11, 3)), [X[:7], X[7:]]):
        got = model.fit(rows, y)[-1].coef_
        np.testing.assert_allclose(got, want, atol=1e-10)


def test_names_of_columns():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    model = kg.PolynomialFeatures(2).fit(frame)
    assert list(model.get_feature_names_out())[:6] == ["1", "a", "b", "c", "a^2", "a b"]
    with pytest.raises(ValueError, match="not equal"):
        model.get_feature_names_out(["a", "c", "b"])


def test_bumps():
    model = kg.RadialBasisFeatures().fit(X)
    Z = model.transform(X)
    assert Z.shape == (40, 41)
    want = np.exp(-0.5 * np.sum((X[:, None] - X[None]) ** 2, axis=2))
    np.testing.assert_allclose(Z[:, 1:], want, rtol=1e-10)
    few = kg.RadialBasisFeatures(5, sigma="median", include_bias=False, random_state=0).fit(X)
    assert few.transform(X).shape == (40, 5)
    given = kg.RadialBasisFeatures(X[:4], kernel=kg.Laplacian(1.0)).fit(X)
    np.testing.assert_allclose(given.transform(X)[:, 1:], kg.Laplacian(1.0)(X, X[:4]))
    sparse = given.transform(sp.csr_array(X))
    np.testing.assert_allclose(sparse, given.transform(X))
    # as many bumps as rows: least squares of smallest norm goes through every row
    exact = kg.LinearRegression(fit_intercept=False).fit(Z, y)
    np.testing.assert_allclose(exact.predict(Z), y, atol=1e-6)


def test_functions():
    model = kg.FunctionFeatures(["identity", "exp", lambda x: x[:, 0] * x[:, 1]]).fit(X)
    Z = model.transform(X)
    np.testing.assert_allclose(Z, np.column_stack([np.ones(40), X, np.exp(X), X[:, 0] * X[:, 1]]))
    assert model.n_columns_ == [3, 3, 1]
    np.testing.assert_allclose(model.transform(sp.csr_array(X)), Z)
    lazy = model.transform(da.from_array(X, chunks=(9, 3)))
    np.testing.assert_allclose(lazy.compute(), Z)
    x = np.linspace(-1, 1, 30)[:, None]
    target = 2 + np.sin(x[:, 0]) - 0.5 * np.exp(x[:, 0])
    fit = make_pipeline(
        kg.FunctionFeatures(["sin", "exp"], include_bias=False), kg.LinearRegression()
    ).fit(x, target)
    np.testing.assert_allclose(fit[-1].coef_, [1.0, -0.5], rtol=1e-9)


@pytest.mark.parametrize(
    ("model", "match"),
    [
        (kg.PolynomialFeatures(-1), "degree must"),
        (kg.PolynomialFeatures((3, 2)), "degree must"),
        (kg.PolynomialFeatures(200), "Nystroem"),
        (kg.PolynomialFeatures(weights="heavy"), "weights must"),
        (kg.PolynomialFeatures(weights="kernel", include_bias=False), "every monomial"),
        (kg.PolynomialFeatures(order="K"), "order must"),
        (kg.RadialBasisFeatures(np.zeros((2, 5))), "centers must"),
        (kg.RadialBasisFeatures(0), "centers"),
        (kg.FunctionFeatures([]), "at least one"),
        (kg.FunctionFeatures("sin"), "array-like"),
        (kg.FunctionFeatures(["sine"]), "must be callables or one of"),
        (kg.FunctionFeatures([lambda x: x[:1]]), None),
    ],
)
def test_errors(model, match):
    if match is None:
        with pytest.raises(ValueError, match="must return"):
            model.fit(X).transform(X)
        return
    with pytest.raises(ValueError, match=match):
        model.fit(X)


def test_radial_basis_takes_the_name_of_a_kernel():
    X = np.random.default_rng(0).standard_normal((20, 3))
    phi = kg.RadialBasisFeatures(X[:4], kernel="rbf", include_bias=False)
    np.testing.assert_allclose(phi.fit_transform(X), kg.Gaussian(gamma=1 / 3)(X, X[:4]))
    with pytest.raises(ValueError, match="unknown kernel"):
        kg.RadialBasisFeatures(kernel="radial").fit(X)


@pytest.mark.parametrize("container", [sp.csr_array, sp.csc_array])
@pytest.mark.parametrize("interaction_only", [False, True])
def test_sparse_rows_of_a_high_degree(container, interaction_only):
    """Beyond degree 3 scikit-learn's sparse columns took minutes for 300 000 features."""
    X = sp.random_array((30, 6), density=0.4, rng=0).toarray()
    how = {"degree": (2, 5), "interaction_only": interaction_only}
    dense = kg.PolynomialFeatures(**how).fit_transform(X)
    found = kg.PolynomialFeatures(**how).fit_transform(container(X))
    assert sp.issparse(found)
    np.testing.assert_allclose(found.toarray(), dense)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("weights", ["none", "kernel"])
def test_polynomial_features_of_many_rows_are_those_of_few(order, weights, monkeypatch):
    """Rows are worked on a few at a time; the last ones are fewer."""
    X = np.random.default_rng(0).standard_normal((101, 3))
    model = kg.PolynomialFeatures(3, order=order, weights=weights).fit(X)
    whole = model.transform(X)
    monkeypatch.setattr(polynomial, "CACHED_ENTRIES", 7 * model.n_output_features_)
    parts = model.transform(X)
    np.testing.assert_array_equal(parts, whole)
    assert parts.flags[f"{order}_CONTIGUOUS"]
    assert whole.flags[f"{order}_CONTIGUOUS"]
