"""Which method, and how many clusters: choices made from the rows alone."""
