"""The plan of an experiment: cells, shards, digests, cost. The compiler makes it from a spec, and jobs load it."""
