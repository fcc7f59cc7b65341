"""The look of the figures of the gallery; sphinx-gallery calls it before every script."""

import matplotlib as mpl


def quiet_style(gallery_conf, name):
    """Quiet axes, and text that can be read in a thumbnail."""
    mpl.rcParams.update(
        {
            "figure.figsize": (6.2, 4.2),
            "figure.dpi": 100,
            "axes.spines.top": False,
            "axes.spines.right": False,
            "axes.edgecolor": "#8a8a96",
            "axes.titlesize": 11,
            "font.size": 10,
            "savefig.facecolor": "white",
        }
    )
