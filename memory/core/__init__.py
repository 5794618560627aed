"""Ground and the reading of one record: standard library only, no os, re or json; any hook may load
it.

Here stand the errors that dayleaf raises on purpose, since a module of their own would cost every
prompt one more file; each message is one line that ends with a remedy.
"""

from __future__ import annotations


class DayleafError(Exception):
    """Something expected went wrong: the command line prints it and exits 1."""

    status = 1


class UsageError(DayleafError):
    """The words of the call are off: an unknown command, option, key or value; exits 2."""

    status = 2


class StoreError(DayleafError):
    """A record could not be read or written where it should stand."""


class PersonsRecord(StoreError):
    """A session's model asked for a change of what a person wrote; it is kept as a suggestion."""

    def __init__(self, id: str, name: str, title: str):
        super().__init__("%s is a person's; a session can only suggest a change of it" % id)
        self.id, self.name, self.title = id, name, title


class IndexFault(DayleafError):
    """An index file is absent, foreign or damaged; readers fall back to the files."""


class ProviderError(DayleafError):
    """A local command that summarises or embeds failed; the next step of the chain takes over."""
