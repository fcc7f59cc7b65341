"""Cookbook chapter 24 on the fast side: claims about feature maps beyond the Gaussian kernel."""

from __future__ import annotations

import numpy as np
import pytest
from book_checks import cloud, xor

import kilogram as kg

KERNELS = [kg.Gaussian(3.0), kg.Laplacian(8.0), kg.Matern(0.5, 4.0), kg.Matern(2.5, 4.0)]


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_T24_1_features_estimate_their_kernel_without_bias(kernel):
    """T24.1: E <z(x), z(y)> = k(x, y), for every spectrum; the mean of many draws shows it."""
    X = cloud(0, 30, 3)
    found = []
    for seed in range(60):
        Z = kg.FourierFeatures(kernel, 200, random_state=seed).fit_transform(X)
        found.append(Z @ Z.T)
    spread = np.std(found, axis=0) / np.sqrt(60)
    assert (np.abs(np.mean(found, axis=0) - kernel(X)) < 5 * spread + 1e-12).all()


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_T24_1_the_error_is_estimated_before_it_hurts(kernel):
    """T24.1: error like K^(-1/2): four times the features halve both estimate and bound."""
    X = cloud(1, 100, 3)
    few = kg.FourierFeatures(kernel, 100, random_state=0).fit(X).approximation_error(X)
    many = kg.FourierFeatures(kernel, 400, random_state=0).fit(X).approximation_error(X)
    assert few.expected == pytest.approx(2 * many.expected)
    assert few.largest <= few.bound
    assert many.largest <= many.bound


def test_E24_5_the_root_of_the_number_of_features_is_in_the_map():
    """E24.5: without 1/sqrt(K) the inner products grow with K; with it they stay."""
    X = cloud(2, 20, 3)
    for K in (50, 5000):
        Z = kg.FourierFeatures(kg.Gaussian(3.0), K, random_state=0).fit_transform(X)
        assert np.sum(Z**2, axis=1).mean() == pytest.approx(1.0, abs=0.2)


@pytest.mark.parametrize("kernel", [kg.Gaussian(1.0), kg.Laplacian(2.0), kg.Matern(1.5)], ids=repr)
def test_X24_1_xor_with_a_hundred_features_of_any_spectrum(kernel):
    """X24.1: a hundred features separate the exclusive or."""
    X, y = xor(0, std=0.2)
    model = kg.KitchenSinksClassifier(100, kernel=kernel, alpha=1e-3, random_state=0).fit(X, y)
    assert model.score(X, y) == 1.0


def test_M24_4_landmarks_of_all_points_lose_nothing():
    """M24.4: subsampling the points approximates the kernel matrix; all points give it back."""
    X, kernel = cloud(3, 40, 3), kg.Gaussian(4.0)
    errors = []
    for m in (5, 20, 40):
        Z = kg.Nystroem(kernel, m, random_state=0).fit_transform(X)
        errors.append(np.abs(Z @ Z.T - kernel(X)).max())
    assert errors[0] > errors[1] > errors[2]
    assert errors[2] < 1e-6
