"""Verbs that the workflow calls, one a job; each may be called by hand."""
