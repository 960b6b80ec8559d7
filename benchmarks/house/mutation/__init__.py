"""What `mutants.py` is made of: which mutants there are, which tests call them, and tests in a fork."""
