"""Ground and the reading of one record: standard library only, no os, re or json; any hook may load
it.

Here stand the errors that dayleaf raises on purpose, since a module of their own would cost every
prompt one more file; each message is one line that ends with a remedy.
"""

from __future__ import annotations


class DayleafError(Exception):
    """An expected failure: the command line prints it and exits 1."""

    status = 1


class UsageError(DayleafError):
    """An unknown command, option, key or value; the process exits with 2."""

    status = 2


class StoreError(DayleafError):
    """A record could not be read or written at its path."""


class PersonsRecord(StoreError):
    """A session's model tried to change a person's record."""

    def __init__(self, id: str, name: str, title: str):
        super().__init__("%s is a person's; a session can only suggest a change of it" % id)
        self.id, self.name, self.title = id, name, title


class StoreAway(DayleafError):
    """A link of the store leads to a place that is not there."""


class IndexFault(DayleafError):
    """An index file is absent, foreign or damaged; readers use the files."""


class ProviderError(DayleafError):
    """A local command for summaries or embeddings failed.

    The next step of the chain takes over.
    """
