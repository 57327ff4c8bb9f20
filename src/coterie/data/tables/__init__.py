"""Tables as people have them: columns of numbers, words, dates and gaps, and their encoding as rows of numbers."""
