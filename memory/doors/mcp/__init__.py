"""The door to any agent: `dayleaf mcp`, the Model Context Protocol."""
