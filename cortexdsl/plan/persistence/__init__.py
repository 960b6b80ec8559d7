"""What an experiment keeps of its plan: plan.json, looks, declarations, the ledger, checksums of tables."""
