"""The derived files: the index and the vectors, built from the records; they may be deleted at any
time.
"""
