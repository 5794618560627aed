"""The door to vectors: made, kept beside the index, and near to a query."""
