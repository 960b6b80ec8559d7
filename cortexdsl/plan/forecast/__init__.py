"""What a plan will cost and what is suspicious about it, found before anything is spent."""
