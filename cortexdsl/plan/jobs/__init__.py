"""Jobs of a plan: which are due, which only wait, their tools, and the compiled workflow."""
