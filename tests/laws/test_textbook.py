"""Law: the fast version agrees with the textbook version."""

import numpy as np
import pytest

import kilogram as kg
from kilogram.textbook import (
    ENTRIES,
    cca,
    centroids,
    discriminants,
    fisher,
    histograms,
    k_means,
    mixture,
    naive_bayes,
    neighbours,
    neural_network,
    run,
    sparse_regression,
    svm_dual,
    svr,
)
from kilogram.textbook.kernel_pca import project, train
from kilogram.textbook.kernel_ridge import kernel_ridge, leave_one_out
from kilogram.textbook.pca import pca
from kilogram.textbook.random_kitchen_sinks import cosine_sine, kitchen_sinks, predict
from kilogram.textbook.ridge import ridge
from tests.laws.cases import ESTIMATORS, assert_same, data, laws

X, y = data(50, 4)
NEW, _ = data(12, 4, seed=5)
GAUSS = kg.Gaussian(sigma=1.5)


def test_every_estimator_has_a_textbook_version():
    ref = {name for page in ENTRIES.values() for name in page.explains}
    for name in ESTIMATORS:
        assert name in ref or isinstance(laws(name).textbook, str), name


def test_textbook_versions_explain_public_names():
    for page in ENTRIES.values():
        assert all(hasattr(kg, name) for name in page.explains), page.title


@pytest.mark.parametrize("lam", [0.0, 0.3, 40.0])
def test_ridge(lam):
    book = run(ridge(X, y, lam))
    fast = kg.Ridge(alpha=lam).fit(X, y)
    np.testing.assert_allclose(fast.coef_, book["W"], rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(fast.intercept_, book["b"], rtol=1e-8, atol=1e-10)


def test_kernel_ridge():
    book = run(kernel_ridge(GAUSS(X), y, 0.3))
    fast = kg.KernelRidge(alpha=0.3, kernel=GAUSS).fit(X, y)
    np.testing.assert_allclose(fast.dual_coef_, np.ravel(book["alpha"]), rtol=1e-7, atol=1e-9)


def test_kernel_ridge_path():
    lambdas = np.logspace(-2, 2, 7)
    book = run(leave_one_out(GAUSS(X), y, lambdas))
    fast = kg.KernelRidgeCV(alphas=lambdas, kernel=GAUSS).fit(X, y)
    assert fast.alpha_ == pytest.approx(float(lambdas[np.argmin(book["errors"])]))


def test_pca():
    book = run(pca(X, 3))
    fast = kg.PCA(3).fit(X)
    assert_same(fast, fast.transform(X), book["X_hat"], 1e-9)


def test_kernel_pca():
    K = GAUSS(X)
    book = run(train(K, 3))
    fast = kg.KernelPCA(3, kernel=GAUSS).fit(X)
    assert_same(fast, fast.transform(X), book["X_hat"], 1e-7)
    new = run(project(GAUSS(NEW, X), K, book["A"]))["X_hat"]
    assert_same(fast, fast.transform(NEW), new, 1e-7)


def test_kitchen_sinks_converge_to_the_same_function():
    """Two draws of many features differ by their noise only."""
    rng = np.random.default_rng(0)
    W = rng.standard_normal((X.shape[1], 1000)) / 1.5
    book = run(kitchen_sinks(X, y, W, 0.5, features=cosine_sine))
    want = np.ravel(predict(NEW, W, book["a"], features=cosine_sine))
    fast = kg.KitchenSinksRegressor(
        n_components=2000, kernel=GAUSS, alpha=0.5, fit_intercept=False, random_state=0
    )
    got = fast.fit(X, y).predict(NEW)
    assert np.sqrt(np.mean((got - want) ** 2)) < 0.1 * np.std(want)


LABELS = (y > np.median(y)).astype(int)
SIGNS = 2.0 * LABELS - 1


@pytest.mark.parametrize("slack", [1, 2])
@pytest.mark.parametrize("solve", [svm_dual.svm, svm_dual.smo])
def test_support_vector_machine(solve, slack):
    book = run(solve(GAUSS(X), SIGNS, 2.0, slack=slack))
    fast = kg.SVC(C=2.0, kernel=GAUSS, slack=slack, tol=1e-7).fit(X, SIGNS)
    want = GAUSS(NEW, X) @ (book["alpha"] * SIGNS) + book["b"]
    np.testing.assert_allclose(fast.decision_function(NEW), want, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(("slack", "loss"), [(1, "hinge"), (2, "squared_hinge")])
def test_linear_support_vector_machine(slack, loss):
    rng = np.random.default_rng(0)
    book = run(svm_dual.coordinate_descent(X, SIGNS, 0.5, rng, slack=slack, tol=1e-8))
    fast = kg.LinearSVC(C=0.5, loss=loss, tol=1e-9).fit(X, SIGNS)
    np.testing.assert_allclose(fast.coef_[0], book["w"][1:], rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(fast.intercept_[0], book["w"][0], rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("slack", [1, 2])
def test_support_vector_regression(slack):
    book = run(svr.svr(GAUSS(X), y, 1.0, 0.1, slack=slack))
    fast = kg.SVR(C=1.0, epsilon=0.1, kernel=GAUSS, slack=slack, tol=1e-7).fit(X, y)
    want = GAUSS(NEW, X) @ book["beta"] + book["b"]
    np.testing.assert_allclose(fast.predict(NEW), want, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("slack", [1, 2])
def test_linear_support_vector_regression(slack):
    """The linear page writes the square without the half: C there is C/2 here."""
    book = run(svr.svr(X @ X.T, y, 1.0, 0.1, slack=slack))
    loss = "epsilon_insensitive" if slack == 1 else "squared_epsilon_insensitive"
    fast = kg.LinearSVR(C=1.0 / slack, epsilon=0.1, loss=loss, penalize_intercept=False, tol=1e-9)
    fast.fit(X, y)
    np.testing.assert_allclose(np.ravel(fast.coef_), X.T @ book["beta"], rtol=1e-3, atol=1e-3)


def test_fisher():
    book = run(fisher.fisher(X, LABELS, beta=0.1))
    fast = kg.FisherDiscriminant(alpha=0.1).fit(X, LABELS)
    np.testing.assert_allclose(fast.eigenvalues_, book["Lambda"], rtol=1e-8)
    assert_same(fast, fast.transform(X), (X - X.mean(axis=0)) @ book["W"], 1e-8)


def test_kernel_fisher():
    book = run(fisher.kernel_fisher(GAUSS(X), LABELS, 0.01))
    fast = kg.KernelFisherDiscriminant(kernel=GAUSS, alpha=0.01).fit(X, LABELS)
    np.testing.assert_allclose(fast.eigenvalues_, book["Lambda"], rtol=1e-6)
    scores = GAUSS(X) @ book["A"]
    assert_same(fast, fast.transform(X), scores - scores.mean(axis=0), 1e-5)


def test_canonical_correlations():
    book = run(cca.two_views(X[:, :2], X[:, 2:], kappa=0.1))
    fast = kg.CCA(2, scale=False, alpha=0.1).fit(X[:, :2], X[:, 2:])
    assert_same(fast, fast.transform(X[:, :2]), book["U"], 1e-8)
    views = [X[:, :2], X[:, 2:], X[:, 1:3] ** 2]
    many = run(cca.cca(views, 2, kappa=0.1))
    several = kg.MultiviewCCA(2, alpha=0.1).fit(views)
    np.testing.assert_allclose(several.values_, many["Lambda"], rtol=1e-8)


def test_kernel_canonical_correlations():
    views = X[:, :2], X[:, 2:]
    book = run(cca.kernel_cca([GAUSS(V) for V in views], 0.05, 2))
    fast = kg.KernelCCA(2, kernel=GAUSS, alpha=0.05, random_state=0).fit(*views)
    np.testing.assert_allclose(fast.values_, book["Lambda"], rtol=1e-5)
    np.testing.assert_allclose(fast.correlations_, book["rho"], rtol=1e-5)


THREE = np.digitize(y, np.quantile(y, [0.33, 0.66]))


def test_discriminants():
    book = run(discriminants.linear(X, THREE, NEW))
    fast = kg.LinearDiscriminantAnalysis().fit(X, THREE)
    np.testing.assert_allclose(fast.decision_function(NEW), book["score"] - _constant(fast, book))
    book = run(discriminants.quadratic(X, THREE, NEW))
    odds = np.diff(kg.QuadraticDiscriminantAnalysis(tol=0).fit(X, THREE).decision_function(NEW))
    np.testing.assert_allclose(odds, np.diff(-book["score"]), rtol=1e-7, atol=1e-8)


def _constant(fast, book):
    """The scores of the two differ by one number for each row."""
    return (book["score"] - fast.decision_function(NEW)).mean(axis=1, keepdims=True)


def test_nearest_centroid():
    book = run(centroids.online_centroids(X, THREE))
    fast = kg.NearestCentroid().fit(X, THREE)
    np.testing.assert_allclose(fast.centroids_, book["mu"], rtol=1e-10)
    index = run(centroids.nearest_centroid(NEW, book["mu"]))["index"]
    np.testing.assert_array_equal(fast.predict(NEW), index)


def test_naive_bayes():
    book = run(naive_bayes.gaussian(X, THREE, NEW))["S"]
    fast = kg.GaussianNB(var_smoothing=0).fit(X, THREE)
    np.testing.assert_allclose(fast.predict_joint_log_proba(NEW), book, rtol=1e-8)
    words, new = X > 0, NEW > 0
    ref = run(naive_bayes.bernoulli(words, THREE, 0.5, smooth_priors=False))
    book = run(naive_bayes.bernoulli_posterior(new, ref["prior"], ref["p"]))["posterior"]
    fast = kg.BernoulliNB(alpha=0.5).fit(words, THREE)
    np.testing.assert_allclose(fast.predict_proba(new), book, rtol=1e-8)
    values, new = np.digitize(X, [-1, 0, 1]), np.digitize(NEW, [-1, 0, 1])
    ref = run(naive_bayes.categorical(values, THREE, (4,) * 4, 0.5))
    book = run(naive_bayes.log_scores(new, ref["prior"], ref["p"]))["S"]
    fast = kg.CategoricalNB(alpha=0.5, min_categories=4).fit(values, THREE)
    np.testing.assert_allclose(fast.predict_joint_log_proba(new), book, rtol=1e-8)
    # of one-hot rows the multinomial counts what the categorical does, class by class
    hot = np.eye(4)[values].reshape(len(X), -1)
    fraction = np.exp(kg.MultinomialNB(alpha=0.5).fit(hot, THREE).feature_log_prob_)
    smoothed = ref["counts"].reshape(3, -1) + 0.5
    np.testing.assert_allclose(fraction, smoothed / smoothed.sum(axis=1, keepdims=True), rtol=1e-8)


def test_histogram_naive_bayes():
    fast = kg.HistogramNB(12, alpha=1e-9).fit(X, THREE)
    for j in range(X.shape[1]):
        start, width = fast.bins_.starts[j], fast.bins_.widths[j]
        for c in range(3):
            p = run(histograms.histogram(X[c == THREE, j], start, width, 12))["p"]
            got = np.exp(fast.feature_log_density_[j][c, 1:-1])
            np.testing.assert_allclose(got, p, rtol=1e-6, atol=1e-6)


def test_k_means():
    book = run(k_means.lloyd(X, X[:4]))
    fast = kg.KMeans(4, init=X[:4], tol=0).fit(X)
    np.testing.assert_allclose(fast.cluster_centers_, book["mu"], rtol=1e-10)
    np.testing.assert_array_equal(fast.labels_, book["c"])
    ref = run(k_means.online(X, X[:4], np.arange(len(X))))
    online = kg.KMeans(4, init=X[:4])
    online.partial_fit(X[:4])  # four points that are their own centres: counts are 1
    for x in X[4:]:
        online.partial_fit(x[None])
    np.testing.assert_allclose(online.cluster_centers_, ref["mu"], rtol=1e-10)


def test_kernel_k_means():
    first = np.arange(len(X)) % 4
    book = run(k_means.kernel_k_means(GAUSS(X), first))
    fast = kg.KernelKMeans(4, kernel=GAUSS, init=first).fit(X)
    np.testing.assert_array_equal(fast.labels_, book["c"])


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_gaussian_mixture():
    book = run(mixture.em(X, X[:3], 5, tol=-np.inf, floor=1e-3))
    fast = kg.GaussianMixture(
        3, weights_init=[1 / 3] * 3, means_init=X[:3], precisions_init=np.stack([np.eye(4)] * 3),
        max_iter=5, tol=0, reg_covar=1e-3,
    ).fit(X)  # fmt: skip
    np.testing.assert_allclose(fast.means_, book["mu"], rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(fast.covariances_, book["Sigma"], rtol=1e-8, atol=1e-10)


def test_non_negative_factors():
    """The page has one point per column: its H is our W, and goes first."""
    from kilogram.textbook import nmf

    rng = np.random.default_rng(0)
    P, W, H = np.abs(X), rng.random((len(X), 2)), rng.random((2, X.shape[1]))
    book = run(nmf.multiplicative(P.T, H.T, W.T, m=30))
    fast = kg.NMF(2, init="custom", solver="mu", max_iter=30, tol=0)
    with pytest.warns(match="usable"):
        fast.fit(P, W=W, H=H)
    np.testing.assert_allclose(fast.components_, book["W"].T, rtol=1e-6)


def test_independent_components():
    from kilogram.textbook import ica

    rng = np.random.default_rng(0)
    mixed = rng.laplace(size=(500, 3)) @ rng.standard_normal((3, 3))
    white = run(ica.whiten(mixed))
    book = run(ica.symmetric(white["Z"], np.eye(3)))["S"]
    fast = kg.FastICA(random_state=0, tol=1e-12, max_iter=500).fit(mixed).transform(mixed)
    np.testing.assert_allclose(np.abs(book.T @ fast / 500).max(axis=0), 1.0, atol=1e-5)


def test_robust_principal_components():
    from kilogram.textbook import robust_pca

    rng = np.random.default_rng(0)
    low = rng.standard_normal((40, 2)) @ rng.standard_normal((2, 30))
    dirty = low + np.where(rng.random(low.shape) < 0.05, 30.0, 0.0)
    book = run(robust_pca.pursuit(dirty))
    np.testing.assert_allclose(kg.RobustPCA().fit(dirty).low_rank_, book["L"], atol=1e-3)


@pytest.mark.parametrize("lam", [0.01, 0.3, 40.0])
def test_lasso(lam):
    """The page has no offset and no 1/N: centred rows and N lambda."""
    Xc, yc = X - X.mean(axis=0), y - y.mean()
    book = run(sparse_regression.lasso(Xc, yc, lam * len(y)))["beta"]
    fast = kg.Lasso(lam, tol=1e-14, max_iter=100_000).fit(X, y)
    np.testing.assert_allclose(fast.coef_, book, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(fast.intercept_, y.mean() - X.mean(axis=0) @ book, atol=1e-8)


@pytest.mark.parametrize("ratio", [0.2, 0.9])
def test_elastic_net(ratio):
    """|y - X b|^2 + tau_1 |b|^2 + tau_2 |b|_1 is 2N times the objective of the estimator."""
    N, alpha = len(y), 0.4
    Xc, yc = X - X.mean(axis=0), y - y.mean()
    tau_1, tau_2 = N * alpha * (1 - ratio), 2 * N * alpha * ratio
    book = run(sparse_regression.elastic_net(Xc, yc, tau_1, tau_2))["beta"]
    fast = kg.ElasticNet(alpha, l1_ratio=ratio, tol=1e-14, max_iter=100_000).fit(X, y)
    np.testing.assert_allclose(fast.coef_, book, rtol=1e-6, atol=1e-8)


def test_lasso_path():
    Xc, yc = X - X.mean(axis=0), y - y.mean()
    book = run(sparse_regression.lars(Xc, yc))
    lambdas, knots = book["lambdas"][:-1] / len(y), book["knots"][:-1]
    alphas, coefs, _ = kg.lasso_path(Xc, yc, alphas=lambdas, tol=1e-14, max_iter=100_000)
    np.testing.assert_allclose(alphas, lambdas)
    np.testing.assert_allclose(coefs.T, knots, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("k", [1, 4, 31])
@pytest.mark.parametrize("weighted", [False, True])
def test_nearest_neighbours(k, weighted):
    """Votes agree; of equal votes the page throws a coin, the estimator takes the first class."""
    close, rng = neighbours.closeness(NEW, X), np.random.default_rng(0)
    similarity = np.exp(close / 4) if weighted else close
    book = run(neighbours.votes(similarity, THREE, k, rng, weighted=weighted))
    weights = (lambda d: np.exp(-(d**2) / 4)) if weighted else "uniform"
    fast = kg.KNeighborsClassifier(k, weights=weights).fit(X, THREE)
    np.testing.assert_array_equal(fast.kneighbors(NEW)[1], book["nearest"])
    gamma = book["gamma"]
    fraction = gamma / gamma.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(fast.predict_proba(NEW), fraction, rtol=1e-9, atol=1e-12)
    sure = ~book["tie"]
    assert sure.any()
    np.testing.assert_array_equal(fast.predict(NEW)[sure], book["label"][sure])


def test_neural_network():
    """Gradient steps on all rows: half the loss of the page, so twice its step."""
    rng = np.random.default_rng(0)
    Z, t = X[:12, :3], y[:12]
    start = neural_network.initial_weights([3, 4, 1], rng)
    book = run(neural_network.gradient_descent(Z, t, start, alpha=0.05, steps=7))
    fast = kg.MLPRegressor(
        hidden_layer_sizes=(4,),
        activation="logistic",
        solver="sgd",
        alpha=0.0,
        momentum=0.0,
        learning_rate_init=0.1,
        shuffle=False,
        random_state=0,
    ).partial_fit(Z, t)
    fast.coefs_ = [W[:, :-1].T.copy() for W in start]
    fast.intercepts_ = [W[:, -1].copy() for W in start]
    for _ in range(7):
        fast.partial_fit(Z, t)
    for W, coef, b in zip(
        neural_network.weights_of(book, 2), fast.coefs_, fast.intercepts_, strict=True
    ):
        np.testing.assert_allclose(coef, W[:, :-1].T, rtol=1e-10)
        np.testing.assert_allclose(b, W[:, -1], rtol=1e-10)
