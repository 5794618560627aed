"""The door to a browser: `dayleaf view`, the local page."""
