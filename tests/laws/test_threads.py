"""Law: the answer does not depend on the number of threads."""

from threadpoolctl import threadpool_limits

from tests.laws.cases import answer, assert_same, data, fit, laws, make, target_for, under


@under("threads")
def test_threads(name):
    X, y = data(700, 5, name=name)  # large enough for several panels of the native loops
    model = make(name)
    y = target_for(model, y)
    found = []
    for threads in (1, 2):
        with threadpool_limits(threads):
            found.append(answer(fit(model, X, y), X))
    assert_same(fit(model, X, y), found[1], found[0], max(laws(name).rtol * 1e-2, 1e-9))
