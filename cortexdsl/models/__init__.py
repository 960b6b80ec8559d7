"""The door to models: the only place where one is called."""
