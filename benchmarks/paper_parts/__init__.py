"""What each part of the five papers adds, in the paper's own regime and on our graph: one table of parts a method."""
