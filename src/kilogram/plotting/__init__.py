"""Plots on Matplotlib axes, in scikit-learn's form: `XDisplay.from_estimator(model, X, y)`.

A display stores what it draws, and `plot(ax=...)` draws it again; `ax_` and `figure_` hold the
axes. Matplotlib is imported when something is drawn.

    DecisionBoundaryDisplay          regions of two features, margins, support vectors
    PredictionBandDisplay            a curve with its interval: Gaussian processes, bands, conformal
    CoefficientPathDisplay           coefficients over the penalty
    ClusterDisplay                   clusters, centres, ellipses of a mixture
    ScreeDisplay                     variance by component
    KernelMatrixDisplay              a Gram matrix, rows sorted by class
    RocCurveDisplay, PrecisionRecallDisplay     with bootstrap bands
    ConfusionMatrixDisplay, CalibrationDisplay  of a classifier
    PredictionErrorDisplay           residuals, or predicted against actual
    LearningCurveDisplay, ValidationCurveDisplay, LossCurveDisplay
    SilhouetteDisplay                silhouettes by cluster
"""

from kilogram.registry import lazy_package

__getattr__, __dir__, __all__ = lazy_package(__name__)
