"""Least squares on the reference data of the NIST (StRD): certified digits on every solver."""

import numpy as np
import pytest

import kilogram as kg

# Longley 1967: GNP deflator, GNP, unemployed, armed forces, population, year; employed
LONGLEY = """
83.0 234289 2356 1590 107608 1947 60323
88.5 259426 2325 1456 108632 1948 61122
88.2 258054 3682 1616 109773 1949 60171
89.5 284599 3351 1650 110929 1950 61187
96.2 328975 2099 3099 112075 1951 63221
98.1 346999 1932 3594 113270 1952 63639
99.0 365385 1870 3547 115094 1953 64989
100.0 363112 3578 3350 116219 1954 63761
101.2 397469 2904 3048 117388 1955 66019
104.6 419180 2822 2857 118734 1956 67857
108.4 442769 2936 2798 120445 1957 68169
110.8 444546 4681 2637 121950 1958 66513
112.6 482704 3813 2552 123366 1959 68655
114.2 502601 3931 2514 125368 1960 69564
115.7 518173 4806 2572 127852 1961 69331
116.9 554894 4007 2827 130081 1962 70551
"""
CERTIFIED = np.array(
    [
        [-3482258.63459582, 890420.383607373],
        [15.0618722713733, 84.9149257747669],
        [-0.358191792925910e-01, 0.334910077722432e-01],
        [-2.02022980381683, 0.488399681651699],
        [-1.03322686717359, 0.214274163161675],
        [-0.511041056535807e-01, 0.226073200069370],
        [1829.15146461355, 455.478499142212],
    ]
)
# deviations orthogonal to every polynomial of degree 5 on 0, 1, ..., 20
DELTA = np.array([759, -2048, 2048, -2048, 2523, -2048, 2048, -2048, 1838, -2048, 2048.0])
DELTA = np.concatenate([DELTA, DELTA[-2::-1]])
SPREAD = [2152.32624678170, 2363.55173469681, 779.343524331583]
SPREAD = np.array([*SPREAD, 101.475507550350, 5.64566512170752, 0.112324854679312])


def longley():
    table = np.array(LONGLEY.split(), dtype=float).reshape(16, 7)
    return table[:, :6], table[:, 6]


def wampler(which):
    x = np.arange(21.0)
    powers = np.column_stack([x**k for k in range(1, 6)])
    truth = 0.1 ** np.arange(6) if which == 2 else np.ones(6)
    noise = {1: 0.0, 2: 0.0, 3: 1.0, 4: 1e2, 5: 1e4}[which]
    return powers, truth[0] + powers @ truth[1:] + noise * DELTA, truth, noise


def digits(model, truth):
    found = np.append(model.intercept_, model.coef_)
    return -np.log10(np.max(np.abs(found - truth) / np.abs(truth)) + 1e-17)


@pytest.mark.parametrize("solver", ["auto", "qr", "svd", "cholesky"])
@pytest.mark.parametrize("how", ["array", "blocks"])
def test_longley(solver, how):
    X, y = longley()
    rows = [(X[:5], y[:5]), (X[5:6], y[5:6]), (X[6:], y[6:])]
    model = kg.LinearRegression(solver=solver)
    model = model.fit(X, y) if how == "array" else model.fit(rows)
    assert digits(model, CERTIFIED[:, 0]) > (9.5 if solver == "cholesky" else 11)


def test_longley_errors():
    X, y = longley()
    table = kg.LinearRegression().fit(X, y).coefficients(X, y)
    np.testing.assert_allclose(table.error, CERTIFIED[:, 1], rtol=1e-10)
    assert table.sigma == pytest.approx(304.854073561965, rel=1e-11)
    assert table.degrees == 9


@pytest.mark.parametrize(("which", "least"), [(1, 8.5), (2, 11.5), (3, 8.5), (4, 7.5), (5, 5.5)])
@pytest.mark.parametrize("solver", ["auto", "qr", "svd"])
def test_wampler(which, least, solver):
    """Degree 5 in a raw x: QR keeps the digits that its condition number leaves."""
    X, y, truth, noise = wampler(which)
    model = kg.LinearRegression(solver=solver).fit(X, y)
    assert digits(model, truth) > least
    assert model.rank_ == 5
    if noise:
        table = model.coefficients(X, y)
        np.testing.assert_allclose(table.error, noise * SPREAD, rtol=1e-8)


def test_wampler_by_products_and_from_moments():
    """The solvers that square the condition number (1e3, so 1e6 here) lose some digits, not all."""
    X, y, truth, _ = wampler(1)
    assert digits(kg.LinearRegression(solver="cholesky").fit(X, y), truth) > 5
    moments = kg.LinearRegression().partial_fit(X[:9], y[:9]).partial_fit(X[9:], y[9:])
    assert digits(moments, truth) > 5
