"""The door to a person's other machines: `dayleaf store sync`."""
