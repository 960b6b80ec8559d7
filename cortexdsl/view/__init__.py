"""The explorer: from any number of a report to the sentence that made it, in a browser."""
