"""Model servers that the workflow starts and observes."""
