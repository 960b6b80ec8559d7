"""Making the small models: questions, a curriculum, training, exams, packaging (docs/benchmarks/zoo-making.md)."""
