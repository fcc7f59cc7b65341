"""`python -m benchmarks.page`: write the tables of docs/benchmarks.md and of the README."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from benchmarks import table
from benchmarks.tasks import FAMILIES

ROOT = Path(__file__).parent.parent
PAGES = (ROOT / "docs" / "benchmarks.md", ROOT / "README.md")
RESULTS = ROOT / "docs" / "benchmarks" / "one_thread.json"
#: Tasks of the README.
README = (
    "logistic",
    "linear_500000_100",
    "svc_20000_f8",
    "kmeans_100_float32",
    "hist_boosting",
    "forest_100_trees",
    "small_hist_boosting",
    "neighbors_kd_tree",
    "lasso_words",
    "agglomerative_ward",
)
#: Tasks of the summary: what most users run, one or two of a family, whoever is faster.
SUMMARY = (
    "linear_500000_100",
    "ridge_500000",
    "kernel_ridge_8000",
    "lasso_path_wide",
    "lasso_words",
    "huber_200000",
    "ransac",
    "logistic",
    "logistic_text",
    "lda_500000",
    "gaussian_nb_500000",
    "svc_20000_f8",
    "linear_svc_squared_hinge",
    "process_likelihood_3000",
    "neighbors_brute_float32",
    "neighbors_kd_tree",
    "tree_200000",
    "forest_100_trees",
    "hist_boosting",
    "small_hist_boosting",
    "adaboost_stumps",
    "additive_boosting",
    "mlp_60k_float64",
    "pca_tall_f8",
    "kernel_pca_10000",
    "cca_20000",
    "nmf_float64",
    "kmeans_100_float32",
    "kmeans_1000_float32",
    "agglomerative_ward",
    "spectral_graph",
    "mixture_full_float64",
    "kernel_density_2",
    "manifold_lle",
    "import",
)
BLOCK = re.compile(r"(<!-- table: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)

Row = Mapping[str, Any]


def _markdown(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    names = list(head)
    lines = ["| " + " | ".join(names) + " |", "|" + "---|" * len(names)]
    return "\n".join(lines + ["| " + " | ".join(cells) + " |" for cells in rows]) + "\n"


def _compared(tasks: Mapping[str, Row]) -> dict[str, Row]:
    """Tasks where Kilogram and at least one peer finished."""
    return {
        name: row
        for name, row in tasks.items()
        if table.best_peer(row) and "error" not in row["contestants"][row["ours"][0]]
    }


def _ratio(row: Row) -> float:
    peer = table.best_peer(row)
    assert peer is not None
    contestants = row["contestants"]
    return float(contestants[peer]["seconds"] / contestants[row["ours"][0]]["seconds"])


def _cells(row: Row) -> tuple[str, str, str, str, str]:
    """Title, our time, the best peer and its time, ratio, quality."""
    peer = table.best_peer(row)
    assert peer is not None
    ours, best = row["contestants"][row["ours"][0]], row["contestants"][peer]
    return (
        row["title"],
        table.seconds(ours["seconds"]),
        f"{peer} {table.seconds(best['seconds'])}",
        table.ratio(_ratio(row)),
        table.quality(ours["quality"], best["quality"]),
    )


def summary(found: Mapping[str, Any]) -> str:
    tasks = _compared(found["tasks"])
    rows = [(tasks[n]["family"], *_cells(tasks[n])) for n in SUMMARY if n in tasks]
    return _markdown(("family", "task", "Kilogram", "best peer", "ratio", "quality"), rows)


def readme(found: Mapping[str, Any]) -> str:
    tasks = _compared(found["tasks"])
    rows = [_cells(tasks[name])[:4] for name in README if name in tasks]
    return (
        conditions(found, brief=True)
        + "\n"
        + _markdown(("task", "Kilogram", "best peer", "ratio"), rows)
    )


def slower(found: Mapping[str, Any]) -> str:
    """Tasks on which a peer is faster, the worst first."""
    rows = sorted((r for r in _compared(found["tasks"]).values() if _ratio(r) < 1), key=_ratio)
    return _markdown(
        ("task", "Kilogram", "best peer", "ratio", "quality"), [_cells(row) for row in rows]
    )


def _others(row: Row) -> str:
    """The contestants that are neither our first nor the best peer."""
    shown = {row["ours"][0], table.best_peer(row)}
    parts = [
        f"{who} {table.seconds(result['seconds'])}"
        if "error" not in result
        else f"{who}: {result['error']}"
        for who, result in row["contestants"].items()
        if who not in shown and "is not installed" not in result.get("error", "")
    ]
    return ", ".join(parts)


def _memory(row: Row) -> str:
    peer = table.best_peer(row)
    pair = [row["contestants"][who]["peak"] for who in (row["ours"][0], peer) if who]
    return " / ".join(f"{max(peak, 0) / 2**20:.0f}" for peak in pair)


def families(found: Mapping[str, Any]) -> str:
    tasks = _compared(found["tasks"])
    parts = []
    for family in FAMILIES:
        rows = [row for row in tasks.values() if row["family"] == family]
        if rows:
            cells = [(*_cells(row), _others(row), _memory(row)) for row in rows]
            head = ("task", "Kilogram", "best peer", "ratio", "quality", "others", "MiB")
            parts.append(f"### {family}\n\n" + _markdown(head, cells))
    return "\n".join(parts)


def conditions(found: Mapping[str, Any], brief: bool = False) -> str:
    """Machine, versions, days and commits, in one paragraph."""
    rows = found["tasks"].values()
    days = sorted({row["date"] for row in rows})
    commits = sorted({row["commit"] for row in rows})
    threads = "one thread" if found["threads"] == 1 else f"{found['threads']} threads"
    if brief:
        return f"{found['machine']}; {threads}, {found['clock']} time, {' and '.join(days)}.\n"
    versions = ", ".join(f"{name} {version}" for name, version in found["packages"].items())
    return (
        f"{found['machine']}; {threads}, {found['clock']} time. Peers: {versions}. Measured "
        f"{' and '.join(days)} at commit {', '.join(commits)}.\n"
    )


TABLES = {
    "summary": summary,
    "slower": slower,
    "families": families,
    "conditions": conditions,
    "readme": readme,
}


def written(page: str, found: Mapping[str, Any]) -> str:
    """The page with every table between its marks replaced."""
    return BLOCK.sub(lambda m: f"{m[1]}\n{TABLES[m[2]](found)}\n{m[3]}", page)


def main() -> None:
    found = json.loads(RESULTS.read_text())
    for path in PAGES:
        page = path.read_text()
        new = written(page, found)
        if "--check" in sys.argv[1:] and new != page:
            raise SystemExit(f"{path} differs from {RESULTS}: run python -m benchmarks.page.")
        path.write_text(new)


if __name__ == "__main__":
    main()
