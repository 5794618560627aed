"""The door to other agents: their past sessions, for `dayleaf store import transcripts --agent`."""
