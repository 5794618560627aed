"""What a session's transcript says: its entries, the commands that ran and how they went, what git
did.
"""
