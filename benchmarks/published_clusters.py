"""Adjusted Rand indices others have published for the labelled clustering sets.

From "Benchmarks: detailed results" in the documentation of genieclust (M. Gagolewski; repository
gagolews/genieclust, .devel/sphinx/weave/benchmarks_details.md at b0a6f92, section "ar"), two
decimals, best over the reference partitions. There every set is centred, scaled as a whole and has
a little noise added; k is the true number. Spectral clustering has an affinity of fixed width there
(gamma = 5), here a graph of neighbours.
"""

FAMILIES = ("KMeans", "Agglomerative ward", "Agglomerative average", "Agglomerative complete",
            "Agglomerative single", "GaussianMixture", "SpectralClustering")  # fmt: skip
PUBLISHED = {
    # set: (k-means, Ward, average, complete, single, Gaussian mixture, spectral)
    "fcps_atom": (0.18, 0.10, 0.10, 0.08, 1.00, 0.03, 1.00),
    "fcps_chainlink": (0.09, 0.28, 0.27, 0.31, 1.00, 0.91, 1.00),
    "fcps_engytime": (0.85, 0.75, 0.05, 0.04, 0.00, 0.98, 0.92),
    "fcps_hepta": (1.00, 1.00, 1.00, 1.00, 1.00, 1.00, 1.00),
    "fcps_lsun": (0.44, 0.37, 0.36, 0.40, 1.00, 1.00, 0.80),
    "fcps_target": (0.63, 0.64, 0.15, 0.21, 1.00, 0.65, 1.00),
    "fcps_tetra": (1.00, 0.97, 0.99, 0.99, 0.00, 1.00, 1.00),
    "fcps_twodiamonds": (1.00, 1.00, 0.99, 0.99, 0.00, 1.00, 1.00),
    "fcps_wingnut": (0.86, 0.60, 1.00, 1.00, 1.00, 0.86, 0.78),
    "sipu_a1": (0.97, 0.91, 0.93, 0.92, 0.44, 0.96, 0.94),
    "sipu_a2": (0.97, 0.92, 0.93, 0.91, 0.35, 0.96, 0.91),
    "sipu_a3": (0.95, 0.94, 0.94, 0.92, 0.32, 0.95, 0.93),
    "sipu_aggregation": (0.76, 0.81, 1.00, 0.78, 0.80, 1.00, 0.99),
    "sipu_compound": (0.76, 0.88, 0.91, 0.91, 0.93, 0.91, 0.87),
    "sipu_d31": (0.95, 0.92, 0.91, 0.92, 0.17, 0.95, 0.94),
    "sipu_flame": (0.48, 0.22, 0.44, 0.00, 0.01, 0.34, 0.83),
    "sipu_jain": (0.32, 0.51, 0.78, 0.78, 0.26, 0.00, 0.51),
    "sipu_pathbased": (0.50, 0.54, 0.59, 0.41, 0.00, 0.60, 0.60),
    "sipu_r15": (1.00, 1.00, 1.00, 1.00, 1.00, 1.00, 1.00),
    "sipu_s1": (0.99, 0.98, 0.98, 0.97, 0.46, 0.99, 0.99),
    "sipu_s2": (0.94, 0.91, 0.91, 0.79, 0.00, 0.94, 0.94),
    "sipu_s3": (0.72, 0.68, 0.60, 0.51, 0.00, 0.73, 0.71),
    "sipu_s4": (0.63, 0.55, 0.49, 0.44, 0.00, 0.64, 0.57),
    "sipu_spiral": (0.00, 0.00, 0.00, 0.00, 1.00, 0.00, 0.00),
    "sipu_unbalance": (1.00, 1.00, 1.00, 0.61, 1.00, 1.00, 1.00),
}
