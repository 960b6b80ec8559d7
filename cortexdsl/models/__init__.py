"""Models: the client that calls them, the transports, the call log, the budget."""
