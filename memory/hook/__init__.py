"""What a hook waits for: what reaches the model unasked, and the index as it is read; the same rule as core."""
