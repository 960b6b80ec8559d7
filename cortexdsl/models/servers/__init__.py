"""Model servers that the workflow starts."""
