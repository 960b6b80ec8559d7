"""What a whole plan costs, and whether its prompts render and fit their models."""
