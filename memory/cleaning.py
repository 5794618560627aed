"""What may be written: values without their private parts and secrets."""

from __future__ import annotations

from typing import Any, Callable, Iterator, List, Mapping

from memory.records import Record

_SEPARATOR = "\n\x1e\n"


def clean(value: Any, config: Any, salt: str) -> Any:
    """Return a value of texts, lists and mappings without private parts and secrets.

    config: settings by key.  salt: of the tags that stand for secrets.  All texts are searched together: a value found
    in one of them is taken out of every other one.
    """
    from memory import redact

    texts: List[str] = []
    _each_text(value, texts.append)
    texts = [redact.strip_private(text) for text in texts]
    if config["redact.enabled"] and texts:
        allow = config["redact.allow"]
        joined = redact.redact(_SEPARATOR.join(texts), allow, salt).text.split(_SEPARATOR)
        # An open PEM block runs to the end of the text and takes the separators along: then one by one.
        texts = joined if len(joined) == len(texts) else [redact.redact(text, allow, salt).text for text in texts]
    return _with_texts(value, iter(texts))


def without_private(record: Record) -> Record:
    """Return a record without its private parts: before anything takes its lines apart, and a tag loses its other half."""
    from memory import redact

    return record.replaced(title=redact.strip_private(record.title), body=redact.strip_private(record.body))


def clean_change(before: bytes, after: bytes, config: Any, salt: str) -> bytes:
    """Return a file's new bytes; where they hold a secret that the old ones did not, secrets are taken out of them."""
    from memory import redact

    if not config["redact.enabled"]:
        return after
    allow = config["redact.allow"]
    new = redact.redact(after.decode("utf-8", "surrogateescape"), allow, salt)
    if new.found:
        old = redact.redact(before.decode("utf-8", "surrogateescape"), allow, salt)
        known = {(found.kind, found.tag) for found in old.found}
        if any((found.kind, found.tag) not in known for found in new.found):
            return new.text.encode("utf-8", "surrogateescape")
    return after


def _each_text(value: Any, use: Callable[[str], None]) -> None:
    if isinstance(value, str):
        use(value.replace("\0", "").replace("\x1e", " "))
    elif isinstance(value, Mapping):
        for item in value.values():
            _each_text(item, use)
    elif isinstance(value, (list, tuple)):
        for item in value:
            _each_text(item, use)


def _with_texts(value: Any, texts: Iterator[str]) -> Any:
    """Return the same structure with its texts replaced, in the order of `_each_text`."""
    if isinstance(value, str):
        return next(texts)
    if isinstance(value, Mapping):
        return {key: _with_texts(item, texts) for key, item in value.items()}
    return [_with_texts(item, texts) for item in value] if isinstance(value, (list, tuple)) else value
