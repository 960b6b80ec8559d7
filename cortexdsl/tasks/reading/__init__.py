"""Reading answers and confidences out of replies: strict, lenient, never raising and never guessing."""
