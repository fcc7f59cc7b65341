"""LaTeX as plain text: `kg explain` showed \\operatorname{tr} and \\tfrac12 in the terminal."""

import pytest

from kilogram.kitchen.explain.plain_formula import plain_formula
from kilogram.registry import pages

FORMULAS = [f for page in pages() for f in (page.objective, *(t for _, t in page.derivation))]


@pytest.mark.parametrize(
    ("tex", "plain"),
    [
        (r"\min_b \tfrac{1}{2n} \sum_i (y_i - x_i^\top b)^2", "min_b 1/(2n) Σᵢ (yᵢ - xᵢᵀ b)²"),
        (r"\max_{W' W = I} \operatorname{tr}(W' S W)", "max_{W' W = I} tr (W' S W)"),
        (r"(X^\top X + \alpha I)^{-1}, \quad \|w\|", "(Xᵀ X + α I)⁻¹,   ‖w‖"),
        (r"\frac{\sum_i k_i\, y_i}{\sum_i k_i}", "(Σᵢ kᵢ yᵢ)/(Σᵢ kᵢ)"),
        (r"\bar y, \hat y, x_{\max}, \sqrt{2 / D}", "y\u0304, y\u0302, x_{max}, √(2 / D)"),
        ("x^", "x^{}"),
    ],
)
def test_examples(tex, plain):
    assert plain_formula(tex) == plain


@pytest.mark.parametrize("tex", FORMULAS)
def test_no_command_of_the_registry_is_left(tex):
    plain = plain_formula(tex)
    assert "\\" not in plain
    assert "  " not in plain.replace("   ", "")
    assert plain.count("{") == plain.count("}")
