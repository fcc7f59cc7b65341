"""The scenes, one module per subject; each has a tuple `SCENES`."""
