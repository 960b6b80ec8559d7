"""Sources of questions: generators, official files, the hub."""
