"""Making the small models: questions, a curriculum, training, exams, packaging (docs/zoo.md)."""
