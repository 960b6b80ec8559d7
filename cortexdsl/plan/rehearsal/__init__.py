"""One debate rehearsed, with made-up replies: what it would cost, and who would hear whom."""
