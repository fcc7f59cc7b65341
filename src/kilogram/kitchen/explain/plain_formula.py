"""Formulas of the registry as plain text for a terminal: LaTeX commands become Unicode signs.

Only what the registry uses is known: an unknown command is written as its name.
"""

from __future__ import annotations

import re

#: Between formulas on one line; it survives the collapsing of spaces.
_GAP = "\u2003"
_TOKEN = re.compile(r"\\[a-zA-Z]+|\\.|\s+|.", re.DOTALL)

_SIGNS = {
    "alpha": "α", "gamma": "γ", "delta": "δ", "Delta": "Δ", "epsilon": "ε", "eta": "η",
    "theta": "θ", "lambda": "λ", "mu": "μ", "nu": "ν", "xi": "ξ", "pi": "π", "rho": "ρ",
    "sigma": "σ", "phi": "φ", "varphi": "φ", "Phi": "Φ", "psi": "ψ", "omega": "ω", "ell": "l",
    "sum": "Σ", "prod": "Π", "int": "∫", "nabla": "∇", "top": "T", "in": " ∈ ", "le": " ≤ ",
    "ge": " ≥ ", "neq": " ≠ ", "approx": " ≈ ", "propto": " ∝ ", "sim": " ~ ", "mid": " | ",
    "subset": " ⊂ ", "cup": " ∪ ", "leftarrow": " ← ", "to": " → ", "Rightarrow": " ⇒ ",
    "iff": " ⇔ ", "downarrow": " ↓ ", "langle": "⟨", "rangle": "⟩", "odot": " ⊙ ", "dots": "…",
    "ldots": "…", "cdot": " · ", "times": " × ", "infty": "∞", "partial": "∂", "arg": "arg ",
    "log": " log ", "det": " det ", "cos": " cos ", "exp": " exp ", "min": " min", "max": " max",
    "quad": _GAP, "qquad": _GAP, "left": "", "right": "", "big": "", "Big": "",
}  # fmt: skip
_ESCAPED = {"|": "‖", ",": " ", ";": " ", " ": " ", "\\": "; ", "{": "{", "}": "}", "!": ""}
_ACCENTS = {"bar": "\u0304", "hat": "\u0302", "tilde": "\u0303"}
_RAISED = dict(zip("0123456789+-=()nijkmtTd*", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁼⁽⁾ⁿⁱʲᵏᵐᵗᵀᵈ*", strict=True))
_LOWERED = dict(
    zip("0123456789+-=()aeijklmnoprstuvx", "₀₁₂₃₄₅₆₇₈₉₊₋₌₍₎ₐₑᵢⱼₖₗₘₙₒₚᵣₛₜᵤᵥₓ", strict=True)
)
#: A part of a fraction that needs brackets.
_COMPOUND = re.compile(r"(?<=.)[-+]|[ /Σ,]|\d[A-Za-z]")


def plain_formula(tex: str) -> str:
    """The formula on one line, without commands."""
    text = _sequence(_TOKEN.findall(tex.strip()), stop="")
    text = re.sub(r"([(\[⟨]) +| +([)\]⟩,])", r"\1\2", re.sub(" +", " ", text))
    return re.sub(f" *{_GAP} *", "   ", text).strip()


def _sequence(tokens: list[str], stop: str) -> str:
    """All up to the closing token, which is taken too."""
    out = ""
    while tokens:
        token = tokens.pop(0)
        if token == stop:
            break
        out += _token(token, tokens)
    return out


def _token(token: str, tokens: list[str]) -> str:
    if token == "{":
        return _sequence(tokens, "}")
    if token in "^_":
        return _script(_argument(tokens).strip(), token)
    if not token.startswith("\\"):
        return " " if token.isspace() else token
    return _command(token[1:], tokens)


def _command(name: str, tokens: list[str]) -> str:
    if name in ("frac", "tfrac", "dfrac"):
        return "/".join(_bracketed(_argument(tokens)) for _ in range(2))
    if name == "sqrt":
        return "√" + _bracketed(_argument(tokens))
    if name in _ACCENTS:
        return _argument(tokens) + _ACCENTS[name]
    if name in ("begin", "end"):
        _argument(tokens)
        return " "
    if name == "operatorname":
        return f" {_argument(tokens)} "
    if name in ("text", "mathrm", "mathbb", "mathcal", "mathbf"):
        return _argument(tokens)
    return _ESCAPED.get(name) or _SIGNS.get(name, "" if name in _SIGNS else name)


def _argument(tokens: list[str]) -> str:
    """What a command or a script applies to: a group or one token."""
    while tokens and tokens[0].isspace():
        tokens.pop(0)
    return _token(tokens.pop(0), tokens) if tokens else ""


def _script(text: str, kind: str) -> str:
    """A superscript or subscript in Unicode where all its characters have one."""
    table = _RAISED if kind == "^" else _LOWERED
    word = text.isalpha() and len(text) > 2
    if text and not word and all(character in table for character in text):
        return "".join(table[character] for character in text)
    return f"{kind}{text}" if len(text) == 1 else f"{kind}{{{text}}}"


def _bracketed(text: str) -> str:
    text = text.strip()
    return f"({text})" if _COMPOUND.search(text) else text
