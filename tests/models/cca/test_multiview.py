"""Several views: what MAXVAR and SUMCOR are, and that view norms are right."""

import numpy as np
import pytest

import kilogram as kg
from kilogram.base import ConvergenceWarning


def three(n=400, seed=0, noise=0.7):
    rng = np.random.default_rng(seed)
    z = rng.standard_normal((n, 2))
    return [
        z @ rng.standard_normal((2, d)) + noise * rng.standard_normal((n, d)) + 1 for d in (4, 5, 3)
    ]


def test_two_views_are_cca():
    X, Y, _ = three()
    pair = kg.CCA(3, scale=False).fit(X, Y)
    for objective in ("maxvar", "sumcor"):
        model = kg.MultiviewCCA(3, objective=objective).fit([X, Y])
        np.testing.assert_allclose(
            np.sort(model.correlations_), np.sort(pair.correlations_), atol=1e-6
        )


def test_maxvar_eigenvalues():
    """cookbook E10.6: identical latents give M - 1, and values stay within [-1, M - 1]."""
    z = np.random.default_rng(0).standard_normal((200, 1))
    model = kg.MultiviewCCA(1).fit([z, 2 * z, -z])
    assert model.values_[0] == pytest.approx(2.0)
    assert abs(model.correlations_[0]) == pytest.approx(1.0)


@pytest.mark.parametrize("objective", ["maxvar", "sumcor"])
def test_every_view_has_unit_variance(objective):
    """cookbook E10.5: the printed eigenvectors meet only the summed constraint."""
    views = three()
    model = kg.MultiviewCCA(2, objective=objective).fit(views)
    for scores in model.transform(views):
        np.testing.assert_allclose(scores.var(axis=0), 1.0, rtol=1e-8)


def test_sumcor_is_the_better_sum():
    """cookbook E10.7: for one pair both meet the constraints, and SUMCOR has the larger sum."""
    views = three(60, noise=1.5)

    def total(model):
        u = [scores[:, 0] for scores in model.transform(views)]
        return sum(np.cov(u[i], u[j], ddof=0)[0, 1] for i in range(3) for j in range(i))

    summed = kg.MultiviewCCA(1, objective="sumcor").fit(views)
    eigen = kg.MultiviewCCA(1).fit(views)
    assert total(summed) > total(eigen) + 1e-6
    assert summed.objective_ == pytest.approx(total(summed))


def test_sumcor_never_falls():
    views = three(60, noise=1.5)
    found = []
    for rounds in range(1, 6):
        model = kg.MultiviewCCA(2, objective="sumcor", max_iter=rounds, tol=0.0)
        with pytest.warns(ConvergenceWarning):
            found.append(model.fit(views).objective_)
    assert np.all(np.diff(found) >= -1e-10)


def test_views_by_columns():
    views = three()
    X = np.hstack(views)
    one = kg.MultiviewCCA(2).fit(views)
    two = kg.MultiviewCCA(2, views=[4, 5, 3]).fit(X)
    np.testing.assert_allclose(two.transform(X), np.hstack(one.transform(views)))
    assert kg.MultiviewCCA(1, views=3).fit(X).sizes_ == [4, 4, 4]


@pytest.mark.parametrize(
    ("params", "match"),
    [
        ({"n_components": 4}, "n_components"),
        ({"objective": "sum"}, "objective"),
        ({"alpha": -1}, "alpha"),
        ({"views": [4, 5]}, "sum to"),
        ({"views": 40}, "views"),
    ],
)
def test_bad_parameters(params, match):
    X = np.hstack(three())
    with pytest.raises(ValueError, match=match):
        kg.MultiviewCCA(**{"views": [4, 5, 3], **params}).fit(X)


def test_views_of_different_rows():
    X, Y, _ = three()
    with pytest.raises(ValueError, match="same rows"):
        kg.MultiviewCCA().fit([X, Y[:-1]])


def test_one_view_is_refused():
    with pytest.raises(ValueError, match="at least two views"):
        kg.MultiviewCCA(1).fit([np.eye(5)])
