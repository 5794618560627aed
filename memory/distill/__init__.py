"""Records to a digest, with a model and without."""
