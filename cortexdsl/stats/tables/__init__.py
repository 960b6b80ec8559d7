"""Tables of scores and answers, and the independent units that tests count."""
