"""Newton and quasi-Newton methods for smooth and piecewise quadratic objectives."""
