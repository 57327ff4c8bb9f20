"""Things that are no numbers, described as rows of numbers."""
