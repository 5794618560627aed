"""What `dayleaf new` opens in an editor: frontmatter with hints, one text for each kind that people write."""

from __future__ import annotations

from memory import frontmatter

_TEXTS = {
    "rule": """kind: rule
# What to do, or not to do, in one line.
{title}
# Required: why.  Who knows the reason can tell when the rule no longer holds.
rationale:
# Words of a prompt that bring it up, such as [migrations, sql].
tags: []
# Below the second line of dashes: the rule itself, as short as it goes.  It binds once you have approved it.
""",
    "learning": """kind: learning
# What holds, in one line.
{title}
# Such as [auth, jwt].
tags: []
# What it was seen with, such as [v2.1]; empty for every version.
versions: []
# low, medium or high
confidence: medium
# Below the second line of dashes: what happens and why; names, commands and error texts as they are.
""",
    "resource": """kind: resource
{title}
# doc or script
type: doc
# Required: where it is, relative to the project or absolute.
path:
# Such as [v2.1]; empty for every version.
versions: []
# Below the second line of dashes: what is in it, and when to use it.
""",
    "plan": """kind: plan
# What is to be done, in one line.
{title}
# Below the second line of dashes: the plan; its steps are lines `- [ ] what to do`, `- [x]` once done.
""",
}
KINDS = tuple(_TEXTS)


def template(kind: str, title: str) -> bytes:
    """Return the file to be filled in.  kind: one of KINDS.  title: one line, or "" to be written there."""
    line = frontmatter.compose({"title": title}, "").decode("utf-8").split("\n")[1] if title else "title:"
    return ("---\n" + _TEXTS[kind].replace("{title}", line) + "---\n\n").encode("utf-8")
