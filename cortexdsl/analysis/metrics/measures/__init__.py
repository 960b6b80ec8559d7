"""What is computed from one debate: how it ended, who changed its mind, who was heard, what it used, what failed."""
