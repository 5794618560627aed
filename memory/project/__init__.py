"""What lies outside the memory: the repository that records speak of, and the files of others."""
