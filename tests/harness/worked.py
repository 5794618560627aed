"""Checkpoints for tests, as capture writes them: sections, a branch, a session, an instant."""

from __future__ import annotations

from harness import vault


def page(**sections) -> str:
    """Write sections as markdown lists; a text stands for a list of one."""
    return "\n".join(
        "## %s\n\n%s\n"
        % (
            name,
            "".join("- %s\n" % line for line in ([lines] if isinstance(lines, str) else lines)),
        )
        for name, lines in sections.items()
    )


def checkpoint(
    place, id: str, day: str, branch: str = "main", session: str = "", title: str = "", **sections
) -> str:
    """Write the checkpoint of a day (`2026-11-20T10:15`) and return its file's path.  session: its
    own where none is named.
    """
    name = "p/checkpoints/%s/%s00-%s.md" % (day[:10], day[11:].replace(":", ""), id)
    told = sections or {
        "Outcome": "It ended as %s said it would, with every test of the suite green." % id
    }
    return vault.put(
        place,
        name,
        title or "Work of " + id,
        page(**told),
        created='"%s:00Z"' % day,
        branch=branch,
        session=session or "s-" + id,
        source="auto",
    )


def checkout(project: str, branch: str) -> None:
    """Let a repository's HEAD name a branch; "" detaches it."""
    with open(project + "/.git/HEAD", "w", encoding="utf-8") as head:
        head.write("ref: refs/heads/%s\n" % branch if branch else "1" * 40 + "\n")
