"""What a plan is made of: digests, families, shards, tools, weights, judging, what-ifs; and where its files lie."""
