"""How a report says things: numbers, names, claims and findings in sentences."""
