"""Encrypts backups to one recipient of `age`, by the optional package `pyrage`."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Callable

from memory.core import StoreError, UsageError, files
from memory.core.plaintext import one_line

HEADS = (b"age-encryption.org/", b"-----BEGIN AGE ENCRYPTED FILE-----")
KEY_BYTES = 1 << 16


def import_pyrage() -> Any:
    """Return the module pyrage; raises StoreError if not installed."""
    try:
        import pyrage  # type: ignore[import-not-found, import-untyped, unused-ignore]
    except ImportError:
        raise StoreError(
            "encryption needs pyrage, which is not installed; `install.sh --age` installs it "
            "(with pip: dayleaf[age])"
        ) from None
    return pyrage


def parse_recipient(word: str) -> Any:
    """Parse a recipient of `age`: `age1…` or a public SSH key."""
    pyrage, word = import_pyrage(), word.strip()
    try:
        return (pyrage.ssh if word.startswith("ssh-") else pyrage.x25519).Recipient.from_str(word)
    except pyrage.RecipientError:
        raise UsageError(
            "--age '%s' is not an age recipient; `age-keygen` prints one, age1…"
            % one_line(word, 80)
        ) from None


def make_encryptor(to: Any) -> Callable[[str, str], None]:
    """Return a function that encrypts a file into a new file."""

    def seal(plain: str, path: str) -> None:
        pyrage = import_pyrage()
        _create_empty(path)
        try:
            pyrage.encrypt_file(plain, path, [to])
        except pyrage.EncryptError as error:
            raise StoreError("encryption failed: %s" % one_line(str(error), 120)) from None
        fd = os.open(path, os.O_RDONLY)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)
        if not (is_encrypted(path) and os.stat(path).st_size > os.stat(plain).st_size):
            raise StoreError("encryption failed; check the disk")

    return seal


def is_encrypted(path: str) -> bool:
    """Tell whether a file is encrypted by age; False if unreadable."""
    try:
        return files.read(path, 64).startswith(HEADS)
    except OSError:
        return False


@contextmanager
def decrypted(path: str, identity: str, folder: str) -> Iterator[str]:
    """Yield a decrypted copy of a file, removed afterwards.

    identity: the file of an age key, or of an SSH key without a passphrase.
    """
    plain = files.temp_path(folder, "plain")
    try:
        _decrypt(path, identity, plain)
        yield plain
    finally:
        files.remove(plain)


def _decrypt(path: str, identity: str, plain: str) -> None:
    pyrage, keys = import_pyrage(), read_identities(identity)
    try:
        _create_empty(plain)
        pyrage.decrypt_file(path, plain, keys)
    except pyrage.DecryptError as error:
        raise StoreError(
            "%s: the key %s does not open it (%s); nothing was written"
            % (path, identity, one_line(str(error), 120))
        ) from None
    except OSError as error:
        raise StoreError(
            "%s: %s; nothing was written" % (path, (error.strerror or str(error)).lower())
        ) from None


def _create_empty(path: str) -> None:
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, files.FILE_MODE))


def read_identities(path: str) -> list[Any]:
    """Read the private keys in a file; raises StoreError."""
    pyrage = import_pyrage()
    try:
        data = files.read(path, KEY_BYTES)
        if b"-----BEGIN" in data:
            return [pyrage.ssh.Identity.from_buffer(data)]
        lines = [line.strip() for line in data.decode("ascii", "replace").splitlines()]
        words = [line for line in lines if line and not line.startswith("#")]
        found = [pyrage.x25519.Identity.from_str(word) for word in words]
    except OSError as error:
        raise StoreError(
            "%s: %s; name the file of your key" % (path, (error.strerror or "unreadable").lower())
        ) from None
    except pyrage.IdentityError:
        found = []
    if not found:
        raise StoreError("%s holds no age key; `age-keygen -o FILE` writes one" % path)
    return found
