"""Before the run: power and sizes."""
