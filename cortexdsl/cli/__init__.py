"""The command line: one module a verb, imported only when that verb is asked for. `verbs` says in which folder."""
