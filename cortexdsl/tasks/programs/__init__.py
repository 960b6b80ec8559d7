"""Programs that models write: their sandbox, what they do on inputs, and whether they pass tests."""
