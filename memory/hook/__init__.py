"""What a hook waits for: what reaches the model unasked, and the index as it is read; the same rule
as core.
"""

# characters of a prompt in which a standing wish is looked for; a longer one may hold others' words
WISH_CHARS = 1000
FENCE = "dayleaf-memory"  # the element in which text for the model stands
