"""Looking early without being fooled."""
