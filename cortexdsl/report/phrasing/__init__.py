"""Words of a report: names, claims, comparisons, failures and the ledger in sentences."""
