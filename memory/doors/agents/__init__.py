"""The door to other agents: their past sessions, for `dayleaf import transcripts --agent`."""
