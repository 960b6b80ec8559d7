"""What every entry is made of: names, numbers, words with forms, expressions, addresses."""
