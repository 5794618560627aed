"""The verbs, one module a verb or family."""
