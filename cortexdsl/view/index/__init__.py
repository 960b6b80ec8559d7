"""The index beside the results: where each debate's record is, what it came to, which words were said in it."""
