"""A protocol with its settings and its agents: the method that the engine interprets."""
