"""Two classic data sets of robust regression, small enough to be written out.

stackloss: Brownlee 1965, 21 days of a plant that oxidises ammonia. Stars: Rousseeuw and Leroy 1987,
table 3, the 47 stars of the cluster CYG OB1: logarithms of temperature and light.
"""

import numpy as np

AIR = (
    80, 80, 75, 62, 62, 62, 62, 62, 58, 58, 58, 58, 58, 58, 50, 50, 50, 50, 50, 56, 70,
)  # fmt: skip
WATER = (
    27, 27, 25, 24, 22, 23, 24, 24, 23, 18, 18, 17, 18, 19, 18, 18, 19, 19, 20, 20, 20,
)  # fmt: skip
ACID = (
    89, 88, 90, 87, 87, 87, 93, 93, 87, 80, 89, 88, 82, 93, 89, 86, 72, 79, 80, 82, 91,
)  # fmt: skip
LOSS = (
    42, 37, 37, 28, 18, 18, 19, 20, 15, 14, 14, 13, 11, 12, 8, 7, 8, 8, 9, 15, 15,
)  # fmt: skip
TEMPERATURE = (
    4.37, 4.56, 4.26, 4.56, 4.3, 4.46, 3.84, 4.57, 4.26, 4.37, 3.49, 4.43, 4.48, 4.01, 4.29,
    4.42, 4.23, 4.42, 4.23, 3.49, 4.29, 4.29, 4.42, 4.49, 4.38, 4.42, 4.29, 4.38, 4.22,
    3.48, 4.38, 4.56, 4.45, 3.49, 4.23, 4.62, 4.53, 4.45, 4.53, 4.43, 4.38, 4.45, 4.5, 4.45,
    4.55, 4.45, 4.42,
)  # fmt: skip
LIGHT = (
    5.23, 5.74, 4.93, 5.74, 5.19, 5.46, 4.65, 5.27, 5.57, 5.12, 5.73, 5.45, 5.42, 4.05,
    4.26, 4.58, 3.94, 4.18, 4.18, 5.89, 4.38, 4.22, 4.42, 4.85, 5.02, 4.66, 4.66, 4.9, 4.39,
    6.05, 4.42, 5.1, 5.22, 6.29, 4.34, 5.62, 5.1, 5.22, 5.18, 5.57, 4.62, 5.06, 5.34, 5.34,
    5.54, 4.98, 4.5,
)  # fmt: skip


def stackloss():
    """Air flow, water temperature, acid concentration; the loss of ammonia."""
    return np.array([AIR, WATER, ACID], dtype=float).T, np.array(LOSS, dtype=float)


def stars():
    """Log temperature; log light intensity."""
    return np.array(TEMPERATURE)[:, None], np.array(LIGHT)
