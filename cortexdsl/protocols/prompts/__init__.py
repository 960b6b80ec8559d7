"""What agents are asked with: templates, and whether they fit the steps of an arm."""
