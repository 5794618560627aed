"""What a session did, from its transcript to a checkpoint."""
