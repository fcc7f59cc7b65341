"""Matrix factorisation: NMF, FastICA, principal component pursuit."""
