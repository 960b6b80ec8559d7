"""The command line: parses arguments and calls. `verbs` has the table of verbs and the modules that run them."""
