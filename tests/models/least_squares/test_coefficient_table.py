"""The coefficient table, held against the formulas written out with dense matrices."""

import dask.array as da
import numpy as np
import pytest
import scipy.sparse as sp
import scipy.stats

import kilogram as kg
from kilogram.arrays.namespace import to_numpy

KINDS = ["classical", "HC0", "HC1", "HC2", "HC3"]


def data(n=70, d=4, t=None, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) + 3.0
    noise = rng.standard_normal((n, t) if t else n)
    noise = noise * (np.exp(X[:, :1] - 3) if t else np.exp(X[:, 0] - 3))
    y = X @ rng.standard_normal((d, t) if t else d) + noise
    return X, y, rng.integers(1, 4, n).astype(float)


def oracle(X, y, w, kind, fit_intercept):
    """Errors of one target, weights as precisions, with every n x n matrix written out."""
    Z = np.column_stack([np.ones(len(X)), X]) if fit_intercept else X
    n, p = Z.shape
    Zw, yw = np.sqrt(w)[:, None] * Z, np.sqrt(w) * y
    S = np.linalg.inv(Zw.T @ Zw)
    beta = S @ Zw.T @ yw
    r = yw - Zw @ beta
    h = np.diag(Zw @ S @ Zw.T)
    if kind == "classical":
        return beta, np.sqrt(np.diag(S) * (r @ r) / (n - p))
    omega = {"HC0": r**2, "HC1": n / (n - p) * r**2}
    omega |= {"HC2": r**2 / (1 - h), "HC3": r**2 / (1 - h) ** 2}
    return beta, np.sqrt(np.diag(S @ Zw.T @ np.diag(omega[kind]) @ Zw @ S))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("weighted", [False, True])
def test_errors_are_those_of_the_formulas(kind, fit_intercept, weighted):
    X, y, w = data()
    model = kg.LinearRegression(fit_intercept=fit_intercept).fit(X, y, w if weighted else None)
    table = model.coefficients(X, y, w if weighted else None, kind=kind)
    beta, error = oracle(X, y, w if weighted else np.ones(70), kind, fit_intercept)
    np.testing.assert_allclose(table.estimate, beta, rtol=1e-9)
    np.testing.assert_allclose(table.error, error, rtol=1e-9)
    p = 70 - len(beta)
    np.testing.assert_allclose(table.p, 2 * scipy.stats.t.sf(np.abs(beta / error), p), rtol=1e-6)
    reach = scipy.stats.t.ppf(0.975, p) * error
    np.testing.assert_allclose(table.high - table.low, 2 * reach, rtol=1e-9)
    np.testing.assert_allclose(np.sqrt(np.diag(table.covariance)), error, rtol=1e-9)


@pytest.mark.parametrize("kind", KINDS)
def test_frequencies_are_repetitions(kind):
    X, y, w = data()
    many = w.astype(int)
    rX, ry = np.repeat(X, many, axis=0), np.repeat(y, many)
    want = kg.coefficient_table(kg.LinearRegression().fit(rX, ry), rX, ry, kind=kind)
    model = kg.LinearRegression().fit(X, y, w)
    got = kg.coefficient_table(model, X, y, w, kind=kind, weights="frequency")
    np.testing.assert_allclose(got.error, want.error, rtol=1e-9)
    assert got.degrees == want.degrees


@pytest.mark.parametrize("kind", ["classical", "HC3"])
@pytest.mark.parametrize("how", ["blocks", "dask", "sparse", "torch", "memmap"])
def test_containers(kind, how, tmp_path):
    X, y, w = data()
    want = kg.LinearRegression().fit(X, y, w).coefficients(X, y, w, kind=kind)
    rows = (X, y, w)
    if how == "blocks":
        rows = ([(X[:30], y[:30], w[:30]), (X[30:], y[30:], w[30:])],)
    elif how == "dask":
        rows = tuple(da.from_array(a, chunks=(17, *a.shape[1:])) for a in rows)
    elif how == "sparse":
        rows = (sp.csr_array(X), y, w)
    elif how == "torch":
        torch = pytest.importorskip("torch")
        rows = tuple(torch.asarray(a) for a in rows)
    else:
        np.save(tmp_path / "X.npy", X)
        rows = (np.load(tmp_path / "X.npy", mmap_mode="r"), y, w)
    table = kg.LinearRegression().fit(*rows).coefficients(*rows, kind=kind)
    np.testing.assert_allclose(to_numpy(table.error), want.error, rtol=1e-8)


@pytest.mark.parametrize("kind", ["classical", "HC2"])
def test_several_targets(kind):
    X, Y, _ = data(t=3)
    table = kg.LinearRegression().fit(X, Y).coefficients(X, Y, kind=kind)
    assert table.error.shape == (5, 3)
    for j in range(3):
        alone = kg.LinearRegression().fit(X, Y[:, j]).coefficients(X, Y[:, j], kind=kind)
        np.testing.assert_allclose(table.error[:, j], alone.error, rtol=1e-9)
        assert table.sigma[j] == pytest.approx(alone.sigma)


def test_bootstrap_agrees_with_the_sandwich():
    X, y, _ = data(n=400)
    model = kg.LinearRegression().fit(X, y)
    table = model.coefficients(X, y, kind="bootstrap", n_bootstrap=400, random_state=0)
    sandwich = model.coefficients(X, y, kind="HC3")
    np.testing.assert_allclose(table.error, sandwich.error, rtol=0.2)
    assert (table.low < table.estimate).all()
    assert (table.estimate < table.high).all()
    again = model.coefficients(X, y, kind="bootstrap", n_bootstrap=400, random_state=0)
    np.testing.assert_array_equal(table.error, again.error)
    weights = np.full(400, 2.0)
    heavy = (
        kg.LinearRegression()
        .fit(X, y, weights)
        .coefficients(
            X, y, weights, kind="bootstrap", weights="frequency", n_bootstrap=300, random_state=0
        )
    )
    np.testing.assert_allclose(heavy.error, sandwich.error / np.sqrt(2), rtol=0.25)


def test_coverage_of_the_intervals():
    """19 of 20 intervals hold the truth, also with unequal variances if told so."""
    rng = np.random.default_rng(1)
    X = rng.standard_normal((60, 2))
    spread = np.exp(0.8 * X[:, 0])
    inside = {"classical": [], "HC3": []}
    for _ in range(400):
        y = X @ [1.0, 2.0] + spread * rng.standard_normal(60)
        model = kg.LinearRegression().fit(X, y)
        for kind, found in inside.items():
            table = model.coefficients(X, y, kind=kind)
            found.append(table.low[1] <= 1.0 <= table.high[1])
    assert 0.92 < np.mean(inside["HC3"]) < 0.98
    assert np.mean(inside["classical"]) < 0.9


def test_frames_and_text():
    pd = pytest.importorskip("pandas")
    X, Y, _ = data(t=2)
    frame = pd.DataFrame(X, columns=["size", "age", "rooms", "floor"])
    model = kg.LinearRegression().fit(frame, Y[:, 0])
    table = model.coefficients(frame, Y[:, 0], level=0.9)
    assert table.names == ("intercept", "size", "age", "rooms", "floor")
    lines = repr(table).splitlines()
    assert "90% low" in lines[1]
    assert len(lines) == 7
    found = table.to_frame()
    assert list(found["name"]) == list(table.names)
    np.testing.assert_array_equal(found["error"], table.error)
    many = kg.LinearRegression().fit(X, Y).coefficients(X, Y)
    assert list(many.to_frame()["target"]) == [0] * 5 + [1] * 5
    assert "target 1" in repr(many)


def test_dependent_columns_are_reported():
    X, y, _ = data()
    X = np.column_stack([X, X[:, 0] + X[:, 1]])
    model = kg.LinearRegression().fit(X, y)
    with pytest.warns(UserWarning, match="4 of 5 columns are independent"):
        table = model.coefficients(X, y)
    assert table.degrees == 65
    sound = kg.LinearRegression().fit(X[:, 2:4], y)
    assert sound.coefficients(X[:, 2:4], y).degrees == 67


@pytest.mark.parametrize(
    ("params", "match"),
    [
        ({"kind": "HC4"}, "kind must be"),
        ({"level": 1.5}, "level must be"),
        ({"weights": "other"}, "weights must be"),
        ({"kind": "bootstrap", "n_bootstrap": 1}, "n_bootstrap"),
    ],
)
def test_errors(params, match):
    X, y, _ = data()
    with pytest.raises(ValueError, match=match):
        kg.LinearRegression().fit(X, y).coefficients(X, y, **params)


def test_models_that_have_no_such_errors():
    X, y, _ = data()
    with pytest.raises(ValueError, match="penalty"):
        kg.coefficient_table(kg.Ridge().fit(X, y), X, y)
    with pytest.raises(ValueError, match="positive"):
        kg.LinearRegression(positive=True).fit(X, y).coefficients(X, y)
    with pytest.raises(ValueError, match="degrees of freedom"):
        kg.LinearRegression().fit(X[:5], y[:5]).coefficients(X[:5], y[:5])
    blocks = [(X[:30], y[:30]), (X[30:], y[30:])]
    with pytest.raises(ValueError, match="HC3"):
        kg.LinearRegression().fit(blocks).coefficients(blocks, kind="bootstrap")
