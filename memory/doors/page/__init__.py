"""The door to a browser: `dayleaf store view`, the local page."""
