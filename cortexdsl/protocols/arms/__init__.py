"""A spec's methods and the points of their grids."""
