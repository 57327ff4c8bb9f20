"""MVSIB: contrastive clustering of several views, with care for ambiguous rows and small clusters."""
