"""What a report is made of: the tables, ledger and tallies of a results folder, read and typed once."""
