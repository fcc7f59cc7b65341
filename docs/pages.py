"""Write the generated pages of the documentation: methods, API reference, errata, audit codes.

Everything comes from the registry, the docstrings and the gallery scripts, so a new method has its
pages without another line here.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import pkgutil
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import kilogram
import kilogram.evaluation
import kilogram.functions
import kilogram.kernels
import kilogram.kitchen.features
from kilogram.kitchen.audit.finding import CODES
from kilogram.registry import PUBLIC, Page, page_of, pages
from kilogram.textbook import ENTRIES
from kilogram.textbook.errata import as_markdown, concerning, errata

HERE = Path(__file__).parent
GALLERY = HERE / "gallery"

#: The picture at the head of a method page: a script of the gallery.
PICTURES = {
    "least_squares": "regression/plot_coefficient_table",
    "robust": "regression/plot_stars",
    "nonlinear": "regression/plot_growth_curve",
    "kernel_regression": "regression/plot_kernel_regression",
    "ridge": "regression/plot_kernel_ridge",
    "sparse": "regression/plot_lasso_path",
    "pursuit": "regression/plot_matching_pursuit",
    "glm": "regression/plot_poisson",
    "svm": "classification/plot_margin",
    "pca": "subspaces/plot_kernel_pca",
    "cca": "subspaces/plot_kernel_cca",
    "factors": "subspaces/plot_nmf",
    "fisher": "classification/plot_fisher",
    "discriminants": "classification/plot_discriminants",
    "centroids": "classification/plot_centroids",
    "naive_bayes": "classification/plot_naive_bayes",
    "neighbors": "classification/plot_neighbors",
    "logistic": "classification/plot_logistic",
    "online": "classification/plot_perceptron",
    "neural": "classification/plot_network_xor",
    "gaussian_process": "gaussian_process/plot_band",
    "clusters": "clustering/plot_kmeans",
    "mixtures": "clustering/plot_gaussian_mixture",
    "hierarchical": "clustering/plot_dendrogram",
    "choose_k": "clustering/plot_choose_k",
    "spectral": "clustering/plot_kernel_kmeans",
    "manifolds": "subspaces/plot_manifolds",
    "densities": "density/plot_kernel_density",
    "trees": "trees/plot_tree",
    "boosting": "trees/plot_gradient_boosting",
    "semi_supervised": "classification/plot_label_spreading",
    "explicit_features": "kernels/plot_polynomial_features",
    "feature_maps": "kernels/plot_fourier_features",
    "kernels": "kernels/plot_sample_functions",
    "optimization": "optimization/plot_quadratic_program",
    "datasets": "optimization/plot_datasets",
}

#: The method pages under the headings of the index.
GROUPS = {
    "Regression": ("least_squares", "ridge", "sparse", "pursuit", "robust", "glm", "nonlinear",
                   "kernel_regression", "gaussian_process"),
    "Classification": ("logistic", "svm", "discriminants", "fisher", "naive_bayes", "neighbors",
                       "centroids", "online", "neural", "trees", "boosting", "semi_supervised"),
    "Components, factors, maps": ("pca", "cca", "factors", "manifolds"),
    "Clusters and densities": ("clusters", "mixtures", "hierarchical", "spectral", "choose_k",
                               "densities"),
}  # fmt: skip

#: Made by scikit-learn's metadata routing on every estimator; explained in its own documentation.
ROUTING = (
    "get_metadata_routing",
    "set_callbacks",
    *(
        f"set_{method}_request"
        for method in (
            *("fit", "partial_fit", "predict", "score", "transform", "inverse_transform"),
            *("decision_function", "predict_proba", "predict_log_proba"),
        )
    ),
)


# method pages


def page(entry: Page) -> str:
    """The page of a method as MyST Markdown."""
    parts = [f"# {entry.title}\n", _picture(entry), f"$$\n{entry.objective}\n$$\n"]
    steps = [
        f"{i}. {words}\n\n   $$\n   {tex}\n   $$\n"
        for i, (words, tex) in enumerate(entry.derivation, 1)
    ]
    parts += [
        _section("When to use it", entry.when),
        _section("What it costs", entry.cost),
        _section("Where it fails", entry.limits),
        _section("Classes and functions", _table((name, "kilogram") for name in entry.names)),
        _section("Examples", _cards(examples(entry.names))) if examples(entry.names) else "",
        _live(entry),
        _section("Derivation", "\n".join(steps)),
    ]
    if versions := _textbook_versions(entry):
        parts += ["## As the texts print it\n", *versions]
    parts += [_errata(entry), _section("Sources", "\n".join(f"- {s}" for s in entry.sources))]
    return "\n".join(part for part in parts if part)


def _section(title: str, text: str) -> str:
    return f"## {title}\n\n{text}\n"


def _picture(entry: Page) -> str:
    if entry.slug not in PICTURES:
        return ""
    script = PICTURES[entry.slug]
    return (
        f"```{{image}} {picture_file(script)}\n:alt: {title_of(script)}\n"
        f":target: {_up(script)}.html\n:class: method-picture\n```\n"
    )


def picture_file(script: str) -> str:
    """The first figure of a gallery script."""
    topic, name = script.split("/")
    return f"/auto_examples/{topic}/images/sphx_glr_{name}_001.png"


def _up(script: str) -> str:
    return f"../auto_examples/{script}"


def _live(entry: Page) -> str:
    """The exported page of the live book, where it was built."""
    if not (HERE / "_book" / "data" / f"{entry.slug}.js").exists():
        return _section(
            "Live page",
            f"`kg book {entry.slug}` opens this method in the browser: data to move, the algorithm "
            "step by step, and what the printed page gets wrong.",
        )
    return _section(
        "Live page",
        f'<iframe class="live-page" src="../live/index.html?embed=1#/{entry.slug}" '
        f'title="{entry.title}, live" loading="lazy"></iframe>\n\n'
        f'<a href="../live/index.html#/{entry.slug}">Open it on a page of its own.</a>',
    )


def _textbook_versions(entry: Page) -> list[str]:
    """The source of every textbook version of a class of this page, each file once."""
    files: dict[str, str] = {}
    for version in ENTRIES.values():
        if set(version.explains) & set(entry.names):
            module = inspect.getmodule(version.function)
            files.setdefault(module.__name__, inspect.getsource(module))
    return [
        f":::{{dropdown}} {name.rsplit('.', 1)[1].replace('_', ' ')}\n\n"
        f"```python\n{text.rstrip()}\n```\n:::\n"
        for name, text in files.items()
    ]


def _errata(entry: Page) -> str:
    here = {e.id for name in entry.names for e in concerning(name)}
    rows = [e for e in errata() if e.id in here]
    if not rows:
        return ""
    lines = ["| where | printed | right | shown by |", "|---|---|---|---|"]
    for e in rows:
        cells = (f"{e.text}, {e.where} ({e.id})", e.printed, e.right, f"`{e.test}`")
        lines.append(
            "| " + " | ".join(c.replace("|", "\\|").replace("\n", " ") for c in cells) + " |"
        )
    return _section("What the printed page gets wrong", "\n".join(lines))


def method_index() -> str:
    """The methods with their pictures, by kind of question."""
    found = {entry.slug: entry for entry in pages()}
    named = {slug for group in GROUPS.values() for slug in group}
    groups = {**GROUPS, "Features, kernels, tools": tuple(s for s in found if s not in named)}
    parts = [
        "# Methods\n",
        "What each method minimises, when to use it, what it costs and where it fails; the "
        "algorithm as the texts print it, and the errors of the print.\n",
    ]
    for title, slugs in groups.items():
        cards = "\n".join(
            f":::{{grid-item-card}} {found[s].title}\n:link: {s}\n:link-type: doc\n"
            + (f":img-bottom: {picture_file(PICTURES[s])}\n" if s in PICTURES else "")
            + ":::\n"
            for s in slugs
        )
        parts.append(f"## {title}\n\n::::{{grid}} 2 3 3 4\n:gutter: 2\n\n{cards}\n::::\n")
    listed = "\n".join(slug for slugs in groups.values() for slug in slugs)
    return "\n".join([*parts, f"```{{toctree}}\n:hidden:\n\n{listed}\n```\n"])


# the gallery


@cache
def scripts() -> dict[str, frozenset[str]]:
    """Every script of the gallery, and the public names it uses."""
    found = {}
    for path in sorted(GALLERY.glob("*/plot_*.py")):
        names = set()
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Attribute) and getattr(node.value, "id", "") == "kg":
                names.add(node.attr)
            elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("kilogram"):
                names.update(alias.name for alias in node.names)
        found[f"{path.parent.name}/{path.stem}"] = frozenset(names)
    return found


def examples(names: Iterable[str]) -> list[str]:
    """The scripts that use one of these names: most of them, and few others, first."""
    wanted = set(names)
    found = [script for script, used in scripts().items() if used & wanted]
    used = scripts()
    return sorted(found, key=lambda s: (-len(used[s] & wanted), len(used[s])))[:8]


@cache
def title_of(script: str) -> str:
    """The title of a gallery script, the first line of its docstring."""
    text = (GALLERY / f"{script}.py").read_text("utf-8")
    return (ast.get_docstring(ast.parse(text)) or script).splitlines()[0]


def _cards(found: list[str]) -> str:
    """Thumbnails with links."""
    cards = []
    for script in found:
        topic, name = script.split("/")
        picture = f"/auto_examples/{topic}/images/thumb/sphx_glr_{name}_thumb.png"
        cards.append(
            f":::{{grid-item-card}} {title_of(script)}\n:link: /auto_examples/{script}\n"
            f":link-type: doc\n:img-bottom: {picture}\n:::\n"
        )
    return "::::{grid} 2 3 3 4\n:gutter: 2\n\n" + "\n".join(cards) + "\n::::"


# the API reference


def namespaces() -> dict[str, tuple[ModuleType, list[str]]]:
    """Every public namespace with its names; a name of `kilogram` is not listed again."""
    named = {
        "kilogram": (kilogram, sorted(PUBLIC)),
        "kilogram.evaluation": (kilogram.evaluation, kilogram.evaluation.__all__),
        "kilogram.kernels": (kilogram.kernels, kilogram.kernels.__all__),
        "kilogram.kitchen.features": (kilogram.kitchen.features, kilogram.kitchen.features.__all__),
    }
    return {
        package: (module, [n for n in names if package == "kilogram" or n not in PUBLIC])
        for package, (module, names) in named.items()
    }


def _entry(name: str, package: str = "kilogram") -> str:
    """The directive for a class with its members, a function or a constant."""
    thing = getattr(namespaces()[package][0], name)
    if inspect.isclass(thing):
        members = "".join(
            f"\n   .. auto{_kind(thing, member)}:: {package}.{name}.{member}\n"
            for member in _members(thing)
        )
        return f"```{{eval-rst}}\n.. autoclass:: {package}.{name}\n{members}```\n"
    if callable(thing):
        return f"```{{eval-rst}}\n.. autofunction:: {package}.{name}\n```\n"
    return f"```{{eval-rst}}\n.. py:data:: {package}.{name}\n\n   {thing!r:.70}\n```\n"


def _kind(cls: type, member: str) -> str:
    return "property" if isinstance(inspect.getattr_static(cls, member), property) else "method"


def _members(cls: type) -> list[str]:
    """Public methods and properties with a docstring of Kilogram's own."""
    found = []
    for name in dir(cls):
        member = inspect.getattr_static(cls, name)
        if name.startswith("_") or name in ROUTING:
            continue
        owner = next(base for base in cls.__mro__ if name in vars(base))
        ours = owner.__module__.startswith("kilogram") and getattr(member, "__doc__", None)
        # a fitted attribute belongs to the list of the class, where a link to it is ambiguous
        described = name.endswith("_") or f"\n{name} :" in (inspect.getdoc(cls) or "")
        if ours and (
            callable(getattr(cls, name)) or (isinstance(member, property) and not described)
        ):
            found.append(name)
    return found


def from_scikit_learn(cls: type) -> list[str]:
    """Methods that come from scikit-learn's base classes."""
    return [
        name
        for name in dir(cls)
        if not name.startswith("_")
        and name not in ROUTING
        and callable(getattr(cls, name, None))
        and next(b for b in cls.__mro__ if name in vars(b)).__module__.startswith("sklearn")
    ]


def reference_page(name: str, package: str = "kilogram") -> str:
    """The page of one public name."""
    thing = getattr(namespaces()[package][0], name)
    parts = [f"# {name}\n", _entry(name, package)]
    if inspect.isclass(thing) and (more := from_scikit_learn(thing)):
        listed = ", ".join(f"`{method}`" for method in more)
        parts.append(f"As in scikit-learn: {listed}.\n")
    entry = page_of(name) if package == "kilogram" else None
    if entry:
        parts.append(
            f"Objective, derivation, cost and limits: [{entry.title}](/methods/{entry.slug}.md). "
            f"Live page: `kg book {entry.slug}`.\n"
        )
    if found := examples([name]):
        parts.append(_section("Examples", _cards(found)))
    return "\n".join(parts)


def _summary(name: str, package: str) -> str:
    """The first sentence of a docstring."""
    thing = getattr(namespaces()[package][0], name)
    doc = inspect.getdoc(thing) if callable(thing) else ""
    first = " ".join((doc or "").split("\n\n")[0].split())
    return first.replace("|", "\\|").replace("`", "`").replace("*", "\\*").replace("_", "\\_")


def _table(names: Iterable[tuple[str, str]]) -> str:
    """Names with their first sentence."""
    rows = [
        f"| [`{name}`](/reference/{package}.{name}.md) | {_summary(name, package)} |"
        for name, package in names
    ]
    return "| name | what it is |\n|---|---|\n" + "\n".join(rows) + "\n"


def functions_page() -> str:
    """The functions of arrays below the estimators: losses, distances, densities, links."""
    parts = [
        "# Functions\n",
        "Functions of arrays that estimators are made of: values, gradients, proximal operators. "
        "They take what their formula takes and validate nothing.\n",
    ]
    for found in pkgutil.iter_modules(kilogram.functions.__path__, "kilogram.functions."):
        module = importlib.import_module(found.name)
        names = [
            name
            for name, thing in vars(module).items()
            if inspect.isfunction(thing)
            and thing.__module__ == found.name
            and not name.startswith("_")
        ]
        if names:
            parts.append(f"## {found.name}\n\n```text\n{(module.__doc__ or '').strip()}\n```\n")
            listed = "\n".join(f".. autofunction:: {found.name}.{name}" for name in names)
            parts.append(f"```{{eval-rst}}\n{listed}\n```\n")
    return "\n".join(parts)


def reference_index() -> str:
    """All names, by method page and namespace."""
    by_page: dict[str, list[str]] = {}
    for name, module in PUBLIC.items():
        entry = page_of(name)
        if entry is not None:
            title = entry.title
        else:
            title = "Plots" if ".plotting." in module else "Tables, files and models"
        by_page.setdefault(title, []).append(name)
    parts = [
        "# API reference\n",
        "Every public name. Those of the first part are attributes of `kilogram`, imported as "
        "`kg`.\n",
    ]
    order = [*(entry.title for entry in pages()), "Plots", "Tables, files and models"]
    for title in order:
        if title in by_page:
            parts.append(_section(title, _table((n, "kilogram") for n in by_page[title])))
    for package, (module, names) in namespaces().items():
        if package != "kilogram":
            first = " ".join((module.__doc__ or "").split("\n\n")[0].split())
            text = f"{first}\n\n{_table((n, package) for n in names)}"
            parts.append(_section(f"`{package}`", text))
    listed = "\n".join(
        f"{package}.{name}" for package, (_, names) in namespaces().items() for name in names
    )
    parts.append(
        "## `kilogram.functions`\n\n[Functions of arrays](functions.md): losses, distances, "
        "densities, links.\n"
    )
    return "\n".join([*parts, f"```{{toctree}}\n:hidden:\n\n{listed}\nfunctions\n```\n"])


# other generated pages


def audit_codes() -> str:
    """Every code of the audit: what it is called, why it matters, what to do."""
    parts = [
        "# What the audit finds: codes\n",
        "`kg audit TABLE --target COLUMN` looks for these before anything is fitted, and `kg cook` "
        "does the same. A *serious* finding stops the run until it is mended or accepted "
        "(`--accept CODE`); a *warning* may mislead; a *note* is good to know. How serious one is "
        "depends on the evidence, which is given with it. Codes do not change their meaning.\n",
    ]
    for code, about in CODES.items():
        name = about.title[0].upper() + about.title[1:]
        parts += [f"## {code}: {name}\n", f"{about.why}\n", f"**What to do.** {about.do}\n"]
    return "\n".join(parts)


def write(folder: Path = HERE) -> None:
    """All generated pages; a file whose text has not changed is left as it is."""
    texts: dict[str, Any] = {"errata.md": as_markdown(), "audit_codes.md": audit_codes()}
    texts["methods/index.md"] = method_index()
    texts |= {f"methods/{entry.slug}.md": page(entry) for entry in pages()}
    texts["reference/index.md"] = reference_index()
    texts["reference/functions.md"] = functions_page()
    for package, (_, names) in namespaces().items():
        for name in names:
            texts[f"reference/{package}.{name}.md"] = reference_page(name, package)
    for generated in ("methods", "reference"):
        (folder / generated).mkdir(exist_ok=True)
        for old in (folder / generated).glob("*.md"):
            if f"{generated}/{old.name}" not in texts:
                old.unlink()
    for name, text in texts.items():
        path = folder / name
        if not path.exists() or path.read_text("utf-8") != text:
            path.write_text(text, "utf-8")
