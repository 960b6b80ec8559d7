"""What the small models are taught: debates of a teacher as lessons, and exams."""
