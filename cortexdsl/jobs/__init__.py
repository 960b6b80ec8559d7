"""The work of the workflow's rules: one module a rule, called by the command line or by hand."""
