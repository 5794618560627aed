"""Text for a person: what the engines return, in lines; and one call of the command line."""
