"""What the small models are asked: sums, options, a made-up world."""
