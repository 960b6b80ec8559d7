"""Where questions come from: generators, official files, the hub."""
