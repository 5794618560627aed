"""The only writer of records: written, moved, counted, with secrets taken out before; and who may
do what.
"""
