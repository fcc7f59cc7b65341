"""What one sees at each step of a scene, in plain words.

A caption belongs to the steps whose name begins with its key, or, where the steps sweep over a
parameter, to the frames up to that fraction of the whole.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kilogram.book.recording import Frame

_Key = str | float

CAPTIONS: Mapping[str, Sequence[tuple[_Key, str]]] = {
    "polynomial": (
        (0.2, "Too stiff: the curve cannot follow the points, and both errors are large."),
        (0.55, "The curve follows the points, and points it has not seen are predicted well too."),
        (1.0, "Too free: the curve begins to follow the noise. Only the error on points left out shows it."),
    ),
    "robust": (
        ("least squares", "All points pull equally. The far ones pull the line towards themselves."),
        ("weighted", "Points far from the line get a smaller weight (a smaller dot), and the line is fitted again."),
    ),
    "nonlinear": (
        ("start", "The first guess. The grey lines are the distances whose squares are to become small."),
        ("step", "Replace the curve by its tangent, solve least squares, take the step if it helps."),
    ),
    "kernel_regression": (
        (0.25, "A narrow kernel: each prediction listens to one or two points, noise included."),
        (0.6, "Each prediction averages a handful of neighbours."),
        (1.0, "A wide kernel: everyone is a neighbour, and the curve flattens towards the mean."),
    ),
    "ridge": (
        (0.3, "A heavy penalty: almost all weight is gone, the curves are nearly flat."),
        (0.7, "The penalty falls, the weights grow, the curves bend towards the points."),
        (1.0, "Hardly any penalty: the error on points left out tells whether that is too little."),
    ),
    "kernel_ridge": (
        ("kernel matrix", "How similar is each point to each other? Dark cells are similar pairs."),
        ("K + lambda", "The penalty goes onto the diagonal, and the matrix is split into two triangles."),
        ("forward", "Two triangular systems give one coefficient per point: the curve is the sum of their bumps."),
    ),
    "lasso": (
        (0.3, "A large penalty: only the strongest columns have a coefficient at all."),
        (0.7, "As α falls, columns enter one by one. Ridge, below on the right, uses all from the start."),
        (1.0, "A small penalty: columns that mean nothing have entered, and the test error rises."),
    ),
    "concave": (
        (0.35, "A large penalty: few columns are in use, and the lasso has shrunk them most."),
        (0.7, "MCP and SCAD leave large coefficients where the data puts them; the lasso pulls them in."),
        (1.0, "A small penalty: false columns enter, and the errors of both rise."),
    ),
    "pursuit": (
        ("no column", "Nothing is fitted yet. The ringed column correlates most with y: it comes first."),
        ("column", "It joined, all chosen columns were fitted again, and what is left is correlated anew."),
    ),
    "glm": (
        (0.4, "A heavy penalty: the curve is close to one mean for all."),
        (1.0, "The mean grows like an exponential, and the band with it. The straight line falls below zero."),
    ),
    "svm": (
        ("start", "No point has a weight yet: there is no border."),
        ("step", "Two points exchange weight so that the border keeps more distance. Ringed points have some."),
        ("offset", "Done: the margin is as wide as it gets, and the ringed points alone hold it."),
    ),
    "logistic": (
        ("start", "No weights: every place has probability one half."),
        ("step", "One Newton step: points near the border (large dots) decide where it moves."),
    ),
    "perceptron": (
        ("start", "The line before any correction. Ringed points are on the wrong side."),
        ("step", "One wrong point was added to the weights, and the line turned towards it."),
    ),
    "neighbors": (
        (0.01, "Each point owns the cell around it, and no training point is ever wrong."),
        (0.5, "A few neighbours vote: single odd points no longer have an island of their own."),
        (1.0, "Many neighbours vote: small groups are outvoted."),
    ),
    "outliers": (
        (0.4, "Compared with few neighbours, chance decides who looks lonely."),
        (1.0, "A ring marks points that lie in a thinner place than their neighbours do."),
    ),
    "hashing": (
        (0.4, "Few lines, large wedges: many points share the bits of the query."),
        (1.0, "More lines cut finer wedges: fewer candidates, most of them true neighbours."),
    ),
    "centroids": (
        ("zero", "No point has been seen: all means are at zero."),
        ("the mean", "One more point arrives, and the mean of its class moves a little towards it."),
    ),
    "naive_bayes": (
        ("a normal", "Each class and each column gets its own mean and spread: ellipses along the axes."),
        ("log scores", "At every place the likeliest class wins. Compare with full covariances on the right."),
    ),
    "roc": (
        (0.3, "A high threshold: hardly a false alarm, but much of class 1 is missed."),
        (0.7, "In between: every false alarm more buys some of class 1."),
        (1.0, "A low threshold: nearly all of class 1 is found, with many false alarms."),
    ),
    "discriminants": (
        ("means", "Each class is described by its mean and the shape of its cloud."),
        ("offsets", "Rare classes and wide classes start with a handicap."),
        ("scores", "The likeliest class wins each place: straight borders on the left, curved ones on the right."),
    ),
    "fisher": (
        ("class means", "Where are the two classes on average?"),
        ("within", "How far do points lie from their own mean?"),
        ("between", "How far apart are the means?"),
        ("directions", "The direction with the best ratio of the two: along it the classes hardly overlap."),
    ),
    "trees": (
        ("root", "One box, one answer: the majority everywhere."),
        ("split", "Every box is cut where the cut makes its halves purest."),
    ),
    "adaboost": (
        (0.07, "One stump: a single straight cut, better than guessing."),
        (0.4, "Points that were wrong have grown; the next stump attends to them."),
        (1.0, "All stumps vote. Their sum draws a border that none of them could draw alone."),
    ),
    "boosting": (
        (0.3, "A few small trees: the rough shape."),
        (0.75, "Each new tree mends a part of what the sum still gets wrong."),
        (1.0, "Many trees: watch whether the error on fresh points still falls."),
    ),
    "additive": (
        (0.4, "A few rounds: two coarse staircases, one for each column."),
        (1.0, "The two curves added up give the picture on the left: one can read what each column does."),
    ),
    "cascade": (
        ("all points", "Everything is still in the game."),
        ("stage", "A cheap test throws out what is surely class 0; what passes (ringed) meets the next stage."),
    ),
    "neural_network": (
        (0.2, "Random weights: the hidden lines (dashed) lie anywhere."),
        (0.6, "All lines move at once, a little downhill in every epoch."),
        (1.0, "The lines have found their places, and the output combines them into regions."),
    ),
    "label_spreading": (
        ("labels", "Only the ringed points have a label."),
        ("listen", "Every point takes a mixture of what its neighbours say; the labels travel through the groups."),
    ),
    "kmeans": (
        ("centres", "The start: k centres."),
        ("nearest", "Every point joins the centre nearest to it. This cannot raise J."),
        ("means", "Every centre moves to the mean of its points. This cannot raise J either."),
    ),
    "mixtures": (
        ("start", "A first guess of the groups."),
        ("M:", "Each Gaussian takes the weighted mean and spread of the points that are partly its own."),
        ("E:", "Each point is divided among the Gaussians, by how likely it is under each."),
    ),
    "hierarchical": (
        (0.5, "Many small groups: only close neighbours have joined."),
        (1.0, "The closest two groups join; the height in the dendrogram says how far apart they were."),
    ),
    "spectral": (
        ("affinities", "Near points are strongly connected, far ones not at all."),
        ("divided", "Connections are divided by how connected their points are anyway."),
        ("eigenvectors", "The leading eigenvectors place connected points together."),
        ("k-means", "In these coordinates connected groups lie close together, and k-means finds them easily."),
    ),
    "choose_k": (
        (0.2, "Few clusters: groups may be thrown together."),
        (0.5, "Watch the silhouette: it is highest where points are close to their own group only."),
        (1.0, "Many clusters: groups are cut, and the sum of squares falls all the same."),
    ),
    "densities": (
        (0.25, "Narrow bumps: every point is a peak of its own."),
        (0.6, "Bumps merge into groups, and points left out are likely too."),
        (1.0, "Wide bumps: all groups melt into one hill."),
    ),
    "pca": (
        ("subtract", "Move the cloud so that its mean lies at zero."),
        ("covariance", "How much does the data spread in each direction?"),
        ("eigenvectors", "The longest axis of the spread comes first, the others at right angles."),
        ("project", "Every point is replaced by the nearest point on the first axis; the grey lines are what is lost."),
    ),
    "cca": (
        ("centre", "Both views are moved to mean zero."),
        ("covariances", "How do the columns of one view vary with those of the other?"),
        ("singular", "The pairs of directions are found, strongest correlation first."),
        ("directions", "Scores along the two directions: the closer to a line, the more the views share."),
    ),
    "nmf": (
        ("factors", "Random parts and random amounts: nothing looks like a face yet."),
        ("H", "The amounts of each part in each picture are improved."),
        ("W", "The parts themselves are improved; pixels that do not help fade away."),
        ("kg.NMF", "The library’s fit: parts one could cut out of paper."),
    ),
    "manifolds": (
        ("neighbours", "Each point is joined to its nearest neighbours."),
        ("mixtures", "Each point is written as a mixture of its neighbours."),
        ("what the", "How much do the mixtures miss when the sheet is flattened?"),
        ("smallest", "The flat picture that misses least: colours in order mean that the sheet is unrolled."),
    ),
    "kitchen_sinks": (
        (0.4, "Few random features: a rough copy of the kernel, a rough curve."),
        (1.0, "More features: the copy and the exact curve can hardly be told apart."),
    ),
    "cross_validation": (
        ("fold", "Orange points are hidden from the fit and then predicted; each fold hides others."),
    ),
    "gaussian_process": (
        ("the prior", "No point seen yet: every smooth curve is possible."),
        ("given", "Each point ties the curves down where it lies. Away from the points the band stays wide."),
    ),
}  # fmt: skip


def add_captions(scene: str, frames: Sequence[Frame]) -> None:
    """Give every frame of a scene its caption, where the scene has captions."""
    last = max(len(frames) - 1, 1)
    for i, frame in enumerate(frames):
        frame.caption = frame.caption or _caption(CAPTIONS.get(scene, ()), frame.step, i / last)


def _caption(captions: Sequence[tuple[_Key, str]], step: str, fraction: float) -> str:
    for key, sentence in captions:
        if step.startswith(key) if isinstance(key, str) else fraction <= key:
            return sentence
    return ""
