"""Tables of scores, and the units that tests count."""
