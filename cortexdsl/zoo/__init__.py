"""Making the small models that ship: questions, lessons in this project's prompts, pieces, training, folders."""
