"""Fits estimators with several threads, then again in processes made by one method.

    python -m tests.laws.processes_child fork

Prints the names whose predictions differ or whose fit failed; a hang is ended by the caller.
"""

import multiprocessing
import os
import sys
import warnings
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from sklearn.model_selection import GridSearchCV

import kilogram as kg
from tests.laws.cases import ESTIMATORS, answer, assert_same, data, fit, laws, make, target_for

ROWS = 120
KERNEL_ROWS = 1600  # kernel matrices of so many rows are computed by several threads
#: How processes are made: three by multiprocessing, one by joblib, and workers of a server that
#: loads its models before it forks (`gunicorn --preload`).
METHODS = ("fork", "forkserver", "spawn", "loky", "preload")
WORKERS = 2  # of the server


def predictions(name: str) -> np.ndarray:
    """What a fit of an estimator says of its rows."""
    warnings.simplefilter("ignore")
    X, y = data(ROWS, name=name)
    model = make(name)
    return np.asarray(answer(fit(model, X, target_for(model, y)), X))


def served(models: dict[str, Any]) -> list[Any]:
    """What a worker says: models of its parent predict, and the same are fitted anew."""
    found = []
    for name, model in models.items():
        X = data(ROWS, name=name)[0]
        found.append((np.asarray(answer(model, X)), predictions(name)))
    return found


def preloaded(names: list[str]) -> list[np.ndarray]:
    """What a worker predicts with models fitted before the fork; all workers must agree with it,
    and fit as their parent does.
    """
    models = {}
    for name in names:
        X, y = data(ROWS, name=name)
        models[name] = fit(make(name), X, target_for(make(name), y))
    pipes = []
    for _ in range(WORKERS):
        reader, writer = multiprocessing.Pipe(duplex=False)
        if os.fork() == 0:
            code = 1
            try:
                writer.send(served(models))
                code = 0
            finally:
                os._exit(code)  # as a worker: nothing of the parent is cleaned up
        writer.close()
        pipes.append(reader)
    answers = [pipe.recv() for pipe in pipes]
    for _ in pipes:
        assert os.wait()[1] == 0
    for name, *said in zip(names, *answers, strict=True):
        for old, new in said:
            check(name, new, said[0][0], "fitted in a worker: ")
            check(name, old, said[0][0], "of two workers: ")
    return [old for old, _ in answers[-1]]


def check(name: str, got: np.ndarray, want: np.ndarray, what: str = "") -> None:
    """Print the name of an estimator whose predictions differ."""
    X, y = data(ROWS, name=name)
    model = fit(make(name), X, target_for(make(name), y))
    try:
        assert_same(model, got, want, max(laws(name).rtol, 1e-6))
    except AssertionError as error:
        print(name, what + str(error).replace("\n", " ")[:200])


def use_threads() -> None:
    """Parallel regions of the native core and of BLAS, as a server that loads models has them."""
    X, y = data(KERNEL_ROWS, 8)
    kg.SVC().fit(X, y > 0)
    kg.KernelPCA(2, kernel="rbf").fit(X)
    kg.KMeans(50, max_iter=3, tol=np.inf, random_state=0).fit(X)


def search(jobs: int) -> np.ndarray:
    """A grid search whose fits use threads, in this process or in others."""
    X, y = data(KERNEL_ROWS, 8)
    grid = {"C": [0.5, 2.0]}
    found = GridSearchCV(kg.SVC(), grid, cv=2, n_jobs=jobs).fit(X, y > 0)
    return np.asarray(found.cv_results_["mean_test_score"])


def in_child(method: str, names: list[str]) -> list[np.ndarray]:
    """The predictions of each estimator, computed in other processes."""
    if method == "preload":
        return preloaded(names)
    if method == "loky":
        found = Parallel(n_jobs=2)(delayed(predictions)(name) for name in names)
        return list(found)
    with multiprocessing.get_context(method).Pool(1) as pool:
        return pool.map(predictions, names, chunksize=len(names))


def main() -> None:
    warnings.simplefilter("ignore")
    method, *names = sys.argv[1:]
    names = names or list(ESTIMATORS)
    use_threads()
    expected = [predictions(name) for name in names]
    for name, want, got in zip(names, expected, in_child(method, names), strict=True):
        check(name, got, want)
    if method == "loky":
        np.testing.assert_allclose(search(2), search(1), atol=1e-9)
    print("done")


if __name__ == "__main__":
    main()
