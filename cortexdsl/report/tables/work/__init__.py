"""Tables of what it took: calls and money, model servers, and what was kept and learned."""
