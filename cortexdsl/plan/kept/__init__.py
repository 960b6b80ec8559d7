"""What is kept beside the results: what was declared, the ledger, what looks found, plan.json."""
