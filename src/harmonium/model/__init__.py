"""A fitted model and everything that is asked of it."""
