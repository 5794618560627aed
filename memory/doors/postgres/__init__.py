"""The door to an organisation's index in PostgreSQL, which recall asks besides the files."""
