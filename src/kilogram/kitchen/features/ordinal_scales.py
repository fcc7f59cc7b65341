"""Orders that words carry in themselves: known scales, ranges of numbers, dates.

    scale_order   low, medium, high  ·  S, M, L, XL  ·  0-9, 10-19, 65+  -> the words, lowest first
    date_form     14.03.2020, 3/14/2020, 14 Mar 2020, 20200314           -> how they are written

Weekdays and months are circles, not scales, and stay unordered.
"""

from __future__ import annotations

import re
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from kilogram.kitchen.features.columns import FORMS_APART, as_text

_SCALES: tuple[tuple[str, ...], ...] = tuple(
    tuple(line.split("|"))
    for line in (
        "none|very low|low|medium low|medium|moderate|medium high|high|very high|extreme",
        "none|minimal|mild|moderate|severe|very severe|critical",
        "freezing|cold|cool|mild|warm|hot|very hot",
        "tiny|small|medium|large|huge",
        "xxxs|xxs|xs|s|m|l|xl|xxl|xxxl|xxxxl",
        "very bad|bad|poor|fair|average|good|very good|excellent|outstanding",
        "very poor|poor|below average|average|above average|good|excellent",
        "fair|good|very good|premium|ideal",
        "i3|i2|i1|si2|si1|vs2|vs1|vvs2|vvs1|if|fl",
        "never|almost never|rarely|seldom|occasionally|sometimes|often|usually|frequently|"
        "almost always|always",
        "strongly disagree|disagree|somewhat disagree|neutral|neither agree nor disagree|"
        "somewhat agree|agree|strongly agree",
        "very dissatisfied|dissatisfied|neutral|satisfied|very satisfied",
        "very unlikely|unlikely|neutral|likely|very likely",
        "no|maybe|yes",
        "bronze|silver|gold|platinum|diamond",
        "zero|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve",
        "first|second|third|fourth|fifth|sixth",
        "1st|2nd|3rd|4th|5th|6th|7th|8th|9th|10th|11th|12th",
        "young|middle aged|old",
        "light|medium|dark",
        "slow|medium|fast",
        "short|medium|tall",
        "short|medium|long",
        "thin|normal|thick",
        "beginner|intermediate|advanced|expert",
        "junior|mid|senior|lead|principal",
        "low|med|high|vhigh",
        "small|med|big",
    )
)
_RANGE = re.compile(
    r"^(?P<sign><=|>=|<|>|≤|≥|under|below|over|above|up to)?\s*[$€£]?(?P<low>\d+(?:\.\d+)?)\s*[k%]?"
    r"(?:\s*(?:-|–|to)\s*[$€£]?(?P<high>\d+(?:\.\d+)?)\s*[k%]?)?\s*(?P<more>\+|and (?:over|more))?"
    r"\s*(?:years?|yrs?|days?|months?)?$",
    re.I,
)
_SIGNS = {"<": -1, "<=": -1, "≤": -1, "under": -1, "below": -1, "up to": -1}
_FORMS = (
    "%Y-%m-%d", "%Y/%m/%d", "%d.%m.%Y", "%m/%d/%Y", "%d/%m/%Y", "%d-%m-%Y",
    "%Y-%m-%d %H:%M:%S", "%Y-%m-%d %H:%M", "%Y-%m-%dT%H:%M:%S", "%d.%m.%Y %H:%M",
    "%m/%d/%Y %H:%M", "%d/%m/%Y %H:%M", "%m/%d/%Y %H:%M:%S", "%d/%m/%Y %H:%M:%S",
    "%d %b %Y", "%d-%b-%Y", "%b %d, %Y",  # %b reads whole names of months too
)  # fmt: skip
_LIKE_DATE = r"^\d{1,4}[-./]\d{1,2}[-./]\d{1,4}([ T]\d{1,2}:\d{2}(:\d{2})?)?$"
_WORDED = r"^(\d{1,2}[ -][A-Za-z]{3,9}[ -]\d{4}|[A-Za-z]{3,9} \d{1,2}, \d{4})$"
# Dates of one column may have so many formats, if each has a pattern of its own: our choice; more
# are words.
MANY_WAYS = 4
_COMPACT = r"^(19|20)\d{2}(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01])$"


def scale_order(words: list[str]) -> tuple[str, ...]:
    """The words, lowest first, if three or more of them are steps of one scale; else nothing."""
    if len(words) < 3:
        return ()
    folded = {_folded(word): word for word in words}
    if len(folded) == len(words):
        for scale in _SCALES:
            if set(folded) <= set(scale):
                return tuple(folded[step] for step in scale if step in folded)
    return _range_order(words)


def _folded(word: str) -> str:
    return re.sub(r"[\s_-]+", " ", word.strip().casefold())


def _range_order(words: list[str]) -> tuple[str, ...]:
    found = [_RANGE.match(word.strip()) for word in words]
    if not all(found):
        return ()
    matches = [match for match in found if match]
    plain = [m for m in matches if not (m["sign"] or m["high"] or m["more"])]
    if len(plain) > len(matches) / 2:
        return ()  # mostly bare numbers: one odd word among them is no scale
    keys = [_place(match) for match in matches]
    if len(set(keys)) < len(keys):
        return ()
    return tuple(word for _, word in sorted(zip(keys, words, strict=True)))


def _place(match: re.Match[str]) -> tuple[float, int]:
    sign = (match["sign"] or "").casefold()
    side = _SIGNS.get(sign, 1 if sign or match["more"] else 0)
    return float(match["low"]), side


def date_form(column: Any) -> str:
    """How the dates of a column of words or whole numbers are written; nothing if they are none."""
    if pa.types.is_integer(column.type):
        words = as_text(column)
        return "%Y%m%d" if _all(words, _COMPACT) else ""
    if not pa.types.is_string(column.type) or not _all(column, f"{_LIKE_DATE}|{_WORDED}"):
        return ""
    return _form(column) or _mixed(column)


def _form(column: Any) -> str:
    """The first form that all dates are written in."""
    for form in _FORMS:
        parsed = pc.strptime(column, format=form, unit="s", error_is_null=True)
        if parsed.null_count == column.null_count:
            return form
    return ""


def _mixed(column: Any) -> str:
    """Forms of dates written in several ways, with bars between; each has looks of its own."""
    cells = column.drop_null()
    looks = pc.replace_substring_regex(cells, r"\d+", "0")
    looks = pc.replace_substring_regex(looks, "[A-Za-z]+", "a")
    kinds = pc.unique(looks)
    if len(kinds) > MANY_WAYS:
        return ""
    forms = [_form(cells.filter(pc.equal(looks, kind))) for kind in kinds]
    return FORMS_APART.join(forms) if all(forms) else ""


def _all(words: Any, pattern: str) -> bool:
    return bool(pc.all(pc.match_substring_regex(words, pattern), min_count=1).as_py())
