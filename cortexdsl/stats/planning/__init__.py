"""Before the run: which claims can be decided, and with how many questions."""
