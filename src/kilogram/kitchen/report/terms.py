"""The terms of a report, explained where they first occur and in a list at its end."""

from __future__ import annotations

import re

from markupsafe import Markup, escape

TERMS = {
    "R²": "Fraction of the variance of the target that is explained: 0 is no better than always "
    "predicting the mean, 1 is perfect.",
    "accuracy": "Fraction of the rows whose class is predicted correctly.",
    "balanced accuracy": "Mean of the recalls of all classes, so that a rare class counts as much "
    "as a frequent one.",
    "mean absolute error": "Mean distance of prediction and observed value, in units of the "
    "target.",
    "new rows": "Rows that took no part in fitting or tuning: each row is predicted by models of "
    "the other folds.",
    "later rows": "Rows later than all training rows: each part of the table is predicted from "
    "the rows before it.",
    "rows of new groups": "Rows whose group is not among the training rows.",
    "95 % interval": "If the whole study were repeated many times, 95 % of such intervals would "
    "hold the true score.",
    "baseline": "A model that ignores all columns: it always predicts the mean or the most "
    "frequent class.",
    "optimism": "Score during tuning minus score on new rows: what a score costs when it has been "
    "selected as the best of many.",
    "significant": "Larger than chance alone would make it in 95 of 100 cases.",
    "standard error": "Typical size of the chance variation of an estimate.",
    "precision": "Of the rows predicted as a class, the fraction that really are of it.",
    "recall": "Of the rows of a class, the fraction that is predicted as such.",
    "prediction interval": "A range for a single new row: 90 % of the rows lie inside theirs.",
    "area under the ROC curve": "Probability that a random row of one class gets a higher "
    "predicted probability than one of the other: 0.5 is chance, 1 is perfect.",
    "average precision": "Mean precision over all thresholds; chance has the frequency of the "
    "class.",
    "calibrated": "Of the rows predicted with a probability of 30 %, about 30 % are of the class.",
    "expected calibration error": "Mean difference of predicted probability and observed "
    "frequency.",
    "Brier score": "Mean squared error of the predicted probabilities: 0 is perfect.",
    "out-of-fold": "Predicted by a model that was fitted without the fold of the row.",
    "nested cross-validation": "Parameters are tuned inside the training part of every fold, so "
    "that the score on its test part is not optimistic.",
    "permutation importance": "Loss of score when the values of one column are shuffled.",
    "partial dependence": "Mean prediction when all rows get the same value in one column.",
    "learning curve": "Score by the number of training rows.",
    "kernel version": "The same method with a Gaussian kernel, which can follow curved and joint "
    "effects of columns.",
    "recipe": "Preprocessing, a method and the settings that are searched.",
    "residual": "Observed minus predicted value.",
    "distance correlation": "0 for independent columns only, whatever the form of a dependence; 1 "
    "for a monotone relation of ranks.",
    "silhouette": "How much nearer rows are to their own cluster than to the next: 1 is far "
    "apart, 0 is no separation.",
}
_ANY = re.compile(
    "|".join(rf"(?<!\w){re.escape(t)}(?!\w)" for t in sorted(TERMS, key=len, reverse=True)),
    re.IGNORECASE,
)
_PLACE = {term.casefold(): term for term in TERMS}


def explained(text: object) -> Markup:
    """Text with its terms marked up, each once, with its explanation as a tooltip."""
    seen: set[str] = set()
    parts: list[Markup] = []
    end = 0
    plain = str(text)
    for found in _ANY.finditer(plain):
        term = _PLACE[found.group().casefold()]
        if term in seen:
            continue
        seen.add(term)
        parts += [escape(plain[end : found.start()]), _marked(term, found.group())]
        end = found.end()
    whole = Markup("").join([*parts, escape(plain[end:])])
    return Markup(re.sub(r"(?<=\d) %", "\u00a0%", whole))


def _marked(term: str, written: str) -> Markup:
    return Markup('<abbr title="{}">{}</abbr>').format(TERMS[term], written)


def terms_in(*texts: object) -> list[tuple[str, str]]:
    """The terms that occur in the texts, with their explanations, in alphabetical order."""
    found = {_PLACE[m.casefold()] for text in texts for m in _ANY.findall(str(text))}
    return [(term, TERMS[term]) for term in sorted(found, key=str.casefold)]
