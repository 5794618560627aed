"""Notes: what a model understood of a session, each item with a quote that proves it."""
