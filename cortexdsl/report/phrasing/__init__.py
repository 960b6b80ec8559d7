"""How a report says things: names, claims, comparisons, failures and the ledger in sentences."""
