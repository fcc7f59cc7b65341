"""Law: the reported objective is the one recomputed from the fitted attributes."""

import numpy as np

from tests.laws.cases import data, fit, make, target_for, under


@under("objective")
def test_objective_is_recomputed(name):
    X, y = data(name=name)
    model = make(name)
    y = target_for(model, y)
    fitted = fit(model, X, y)
    np.testing.assert_allclose(fitted.objective_, fitted.objective(X, y), rtol=1e-6)


@under("objective")
def test_objective_is_a_minimum(name):
    """A nudge of the fitted coefficients in any direction does not lower the objective."""
    X, y = data(name=name)
    model = make(name)
    y = target_for(model, y)
    fitted = fit(model, X, y)
    best = fitted.objective(X, y)
    rng = np.random.default_rng(0)
    for attribute in ("coef_", "dual_coef_"):
        if hasattr(fitted, attribute):
            kept = getattr(fitted, attribute)
            for _ in range(5):
                nudge = 1e-2 * rng.standard_normal(np.shape(kept))
                setattr(fitted, attribute, kept + nudge)
                assert fitted.objective(X, y) >= best - 1e-9 * abs(best)
