"""Guided tours: the chapters of the five texts."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

from kilogram.registry import pages
from kilogram.textbook.errata import TEXTS

# how the sources of a page begin
_BEGINNINGS = {
    "cookbook": ("machine learning cookbook", "cookbook"),
    "first_encounter": ("a first encounter", "first_encounter"),
    "lecture_notes": ("machine learning, lecture notes", "lecture notes", "lecture_notes"),
    "summary": ("summary",),
    "slides": ("machine learning, slides", "machine learning, lecture slides", "slides"),
}
# what the parts of the text are called
_WORDS = {
    "cookbook": "chapter",
    "first_encounter": "chapter",
    "lecture_notes": "lecture",
    "summary": "section",
    "slides": "lecture",
}
# chapters about features, evaluation or a method that the sources of its page do not list
_ALSO = {
    ("cookbook", "4"): ("explicit_features", "feature_maps"),
    ("cookbook", "5"): ("naive_bayes",),  # the scene of ROC and thresholds
    ("cookbook", "6"): ("explicit_features",),  # the scene of cross-validation
    ("lecture_notes", "17"): ("naive_bayes",),
    ("lecture_notes", "18"): ("naive_bayes", "explicit_features"),
    ("summary", "3"): ("svm",),
    ("slides", "5"): ("explicit_features", "naive_bayes"),
}
_PART = re.compile(r"\b(?:L0*)?(\d{1,2}|[A-C](?:\.\d)?)\b(?:\s*(?:to|-)\s*(\d{1,2}))?")


def parts_of(source: str) -> tuple[str, list[str]] | None:
    """The text a source names and its chapters: "..., lectures 20 to 22" has three."""
    for text, beginnings in _BEGINNINGS.items():
        head = next((b for b in beginnings if source.lower().startswith(b)), None)
        if head is None:
            continue
        rest = source[len(head) :].replace("2015/16", "")
        pieces = re.split(r"\b(?:chapters?|lectures?|sections?|appendix)\b", rest)
        found = []
        for first, last in _PART.findall(" ; ".join(pieces[1:] or pieces)):
            if last and first.isdigit():
                found += [str(n) for n in range(int(first), int(last) + 1)]
            else:
                found.append(first)
        return text, found
    return None


def _order(part: str) -> tuple[int, str, int]:
    if part.isdigit():
        return 0, "", int(part)
    letter, _, rest = part.partition(".")
    return 1, letter, int(rest or 0)


@cache
def tours() -> list[dict[str, Any]]:
    """The five texts: every chapter with the pages that belong to it."""
    chapters: dict[str, dict[str, list[str]]] = {text: {} for text in TEXTS}
    for page in pages():
        for source in page.sources:
            found = parts_of(source)
            if found is not None:
                for part in found[1]:
                    entry = chapters[found[0]].setdefault(part, [])
                    if page.slug not in entry:
                        entry.append(page.slug)
    for (text, part), slugs in _ALSO.items():
        entry = chapters[text].setdefault(part, [])
        entry += [slug for slug in slugs if slug not in entry]
    return [
        {
            "text": text,
            "title": title,
            "chapters": [
                {"label": _label(text, part), "pages": chapters[text][part]}
                for part in sorted(chapters[text], key=_order)
            ],
        }
        for text, title in TEXTS.items()
    ]


def _label(text: str, part: str) -> str:
    word = "appendix" if part[0].isalpha() else _WORDS[text]
    return f"{word.capitalize()} {part}"
