"""Methods: protocols with settings and agents, one for each grid point of a spec."""
