"""dayleaf: a memory for coding agents that its user owns."""

__version__ = "0.1.0"
