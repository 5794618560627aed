"""The optional doors, one package each: whoever deletes one, and its row, keeps a working dayleaf.

`registry.py` alone loads what stands in them; a door imports the rooms, never another door.
"""
