"""Texts with secrets apart from their labels or in disguise, and texts without any.

Several authors wrote them without a look at the rules.  A value stands in the files reversed, with
its number in its text, so that no scanner takes it for a leak.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Iterator, NamedTuple

DATA = Path(__file__).resolve().parents[1] / "data" / "secrets"


class Written(NamedTuple):
    """A text and its secrets; kind: "apart", "disguised", or "innocent" without any."""

    kind: str
    form: str
    text: str
    secrets: tuple[str, ...]


def written(name: str) -> Iterator[Written]:
    """Return the texts of a file.

    name: `fitted`, by which the trees were fitted; `unseen`, under headings and columns, below a
        line, in sentences, answers and mails; `harder`, anywhere, many without a word for a secret.
    """
    for line in (DATA / (name + ".jsonl")).read_text("utf-8").splitlines():
        row = json.loads(line)
        text, values = row["text"], tuple(value[::-1] for value in row["secret"])
        for number, value in enumerate(values):
            text = text.replace("⟦%d⟧" % number, value)
        yield Written(row["kind"], row["form"], "Before.\n" + text + "\nAfter.", values)


def is_gone(one: Written, redacted: str) -> bool:
    """Tell whether every secret is gone, or an innocent text is left as it was."""
    if not one.secrets:
        return redacted == one.text
    return not any(value in redacted or _is_half_left(value, redacted) for value in one.secrets)


def _is_half_left(value: str, redacted: str) -> bool:
    words = [word for word in value.split() if len(word) > 3]
    return len(words) > 1 and sum(word in redacted for word in words) > len(words) / 2
