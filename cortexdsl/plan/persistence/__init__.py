"""Files that store the plan of an experiment: plan.json, looks, declarations, the ledger, checksums of tables."""
