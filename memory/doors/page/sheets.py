"""HTML of what is shown: templates that escape, a record's markdown made safe, drawings, and one
file that holds it all.

The templates, the style and the script are files of the folder `page`; a name from outside leads to
none of them.
"""

from __future__ import annotations

import base64
import hashlib
import os
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from math import cos, pi, sin, sqrt
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

import nh3
from jinja2 import Environment, FileSystemLoader, StrictUndefined, pass_context
from jinja2.runtime import Context
from markdown_it import MarkdownIt
from markdown_it.rules_core import StateCore
from markdown_it.rules_inline import StateInline
from markupsafe import Markup

from memory.core import StoreError, clock, files, plaintext
from memory.core.records import Record
from memory.recall.relations import Edge, Node
from memory.terminal import localtimes, screen

FOLDER = Path(__file__).parent / "templates"
MOST_LINE = 2000  # characters of one line
MOST_MARKDOWN = 1 << 18  # characters of one text that are made into HTML
TAGS = set(
    (
        "p br hr h2 h3 h4 h5 h6 ul ol li blockquote pre code em strong s a table "
        "thead tbody tr th td"
    ).split()
)
ATTRIBUTES = {
    "a": {"href", "title", "class"},
    "code": {"class"},
    "ol": {"start"},
    "th": {"align"},
    "td": {"align"},
}
SIDE = 640.0  # units of a drawing's side
DRAWN = 40  # records of a drawing
STEPS = 120  # of the forces that lay a drawing out


class Sheet(NamedTuple):
    """The content of one address.

    name: of the template. values: for the template.
    """

    name: str
    title: str
    values: dict[str, Any]


def rendered(sheet: Sheet, base: str, part: bool = False) -> str:
    """Return the HTML of a sheet.

    base: the folder for links. part: its content alone, without the frame.
    """

    def to_record(id: str) -> str:
        return "%s/record/%s" % (base, quote(id, safe=""))

    def to_session(told: dict[str, Any]) -> str:
        return (
            to_record(told["record"])
            if told["by_hand"]
            else "%s/session/%s" % (base, quote(told["id"], safe=""))
        )

    return (
        environment()
        .get_template(sheet.name + ".html")
        .render(
            {
                **sheet.values,
                "title": sheet.title,
                "page": sheet.name,
                "base": base,
                "part": part,
                "to_record": to_record,
                "to_session": to_session,
            }
        )
    )


@lru_cache(4)
def raw(name: str) -> str:
    """Return a file of the folder `page`.

    name: one of ours, never a requested one.
    """
    return (FOLDER / name).read_text(encoding="utf-8")


@lru_cache(1)
def environment() -> Environment:
    """Return the templates, with automatic escapes."""
    made = Environment(
        loader=FileSystemLoader(FOLDER),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    made.filters.update(
        source_line=screen.source_line,
        markdown=_markdown,
        inline=_inline,
        line=plaintext.one_line,
        day=clock.day,
        age=plaintext.age,
        count=plaintext.count,
        minute=localtimes.minute,
        localised=_localised,
    )
    return made


# ---- markdown


def _localised(record: Record) -> str:
    """Return the text of a record with local times."""
    return localtimes.body(record, record.body)


@pass_context
def _markdown(context: Context, text: str) -> Markup:
    """Return the HTML of a record's text."""
    return html_of(text, context["to_record"])


def html_of(text: str, to_record: Callable[[str], str]) -> Markup:
    """Return safe HTML of markdown.

    No raw markup, no pictures, no addresses but those of the web and of records. to_record: returns
    the address of a record named by a `[[link]]`.
    """
    said = plaintext.plain(text)
    left = len(said) - MOST_MARKDOWN
    html = _parser().render(said[:MOST_MARKDOWN], {"to_record": to_record})
    safe = nh3.clean(
        html,
        tags=TAGS,
        attributes=ATTRIBUTES,
        url_schemes={"http", "https", "mailto"},
        link_rel="noopener noreferrer",
    )
    more = (
        "<p>… %s more are in the file</p>" % plaintext.count(left, "character") if left > 0 else ""
    )
    return Markup(safe + more)


def _inline(text: str) -> Markup:
    """Return one line of markdown as safe HTML without links.

    So it may stand anywhere.
    """
    html = _parser().renderInline(plaintext.one_line(text, MOST_LINE), {"to_record": lambda id: ""})
    return Markup(nh3.clean(html, tags={"code", "em", "strong", "s"}, attributes={}))


@lru_cache(1)
def _parser() -> MarkdownIt:
    parser = (
        MarkdownIt("commonmark", {"html": False, "linkify": False})
        .enable(["table", "strikethrough"])
        .disable("image")
    )
    parser.inline.ruler.before("link", "to_record", _to_record)
    parser.core.ruler.push("below", _below)
    return parser


def _to_record(state: StateInline, silent: bool) -> bool:
    """Read `[[target]]` and `[[target|label]]`."""
    if not state.src.startswith("[[", state.pos):
        return False
    end = state.src.find("]]", state.pos + 2, state.posMax)
    target, _, label = state.src[state.pos + 2 : end].partition("|")
    target = target.partition("#")[0].strip()
    if end < 0 or not target or "[" in target or "\n" in target or len(target) > 200:
        return False
    if not silent:
        opened = state.push("link_open", "a", 1)
        opened.attrs = {"href": state.env["to_record"](target), "class": "record"}
        state.push("text", "", 0).content = label.strip() or target
        state.push("link_close", "a", -1)
    state.pos = end + 2
    return True


def _below(state: StateCore) -> None:
    """Lower headings below the page's own."""
    for token in state.tokens:
        if token.type in ("heading_open", "heading_close"):
            token.tag = "h%d" % min(int(token.tag[1]) + 1, 6)


# ---- drawings


class Dot(NamedTuple):
    """A record in a drawing.

    x, y: its place. degree: number of its links.
    """

    node: Node
    x: float
    y: float
    degree: int


class Line(NamedTuple):
    """A link in a drawing."""

    label: str
    x1: float
    y1: float
    x2: float
    y2: float


class Drawing(NamedTuple):
    """Records and their links, laid out on SIDE by SIDE.

    left_out: number of records not drawn.
    """

    dots: Sequence[Dot]
    lines: Sequence[Line]
    left_out: int
    side: float = SIDE


def drawing(nodes: Sequence[Node], edges: Sequence[Edge]) -> Drawing:
    """Lay records out with linked ones near each other.

    The same records always get the same places.
    """
    shown = list(nodes[:DRAWN])
    at = {one: number for number, one in enumerate(shown)}
    pairs = [
        (at[edge.source], at[edge.to], edge.relation)
        for edge in edges
        if edge.to is not None and edge.source in at and edge.to in at and edge.to != edge.source
    ]
    places = _laid(len(shown), [pair[:2] for pair in pairs])
    degree = [sum(number in pair[:2] for pair in pairs) for number in range(len(shown))]
    return Drawing(
        [Dot(one, *places[number], degree[number]) for one, number in at.items()],
        [Line(relation, *places[a], *places[b]) for a, b, relation in pairs],
        len(nodes) - len(shown),
    )


def _laid(count: int, pairs: Sequence[tuple[int, int]]) -> list[tuple[float, float]]:
    """Return the places of a force-directed layout.

    Springs between linked records, a push between all of them, from a circle on. pairs: linked
    numbers.
    """
    here = [
        [cos(2 * pi * n / max(count, 1)), sin(2 * pi * n / max(count, 1))] for n in range(count)
    ]
    reach = 1.6 / sqrt(max(count, 1))
    for step in range(STEPS):
        force = [[0.0, 0.0] for _ in here]
        for a, b, pull in _pulls(count, pairs):
            dx, dy = here[a][0] - here[b][0], here[a][1] - here[b][1]
            far = max(sqrt(dx * dx + dy * dy), 0.01)
            size = -far / reach if pull else (reach / far) ** 2
            for axis, part in enumerate((dx, dy)):
                force[a][axis] += part / far * size
                force[b][axis] -= part / far * size
        most = 0.1 * (1 - step / STEPS)
        for place, (fx, fy) in zip(here, force):
            size = max(sqrt(fx * fx + fy * fy), 1e-9)
            place[0] += fx / size * min(size, most)
            place[1] += fy / size * min(size, most)
    spans = [(min(axis), max(axis)) for axis in zip(*here)]
    x, y = (
        (
            [
                round(60 + (SIDE - 120) * (place[axis] - low) / max(high - low, 1e-9), 1)
                for place in here
            ]
            for axis, (low, high) in enumerate(spans)
        )
        if here
        else ([], [])
    )
    return list(zip(x, y))


def _pulls(count: int, pairs: Sequence[tuple[int, int]]) -> Iterator[tuple[int, int, bool]]:
    yield from ((a, b, False) for a in range(count) for b in range(a))
    yield from ((a, b, True) for a, b in pairs)


# ---- one file


def export_page(values: dict[str, Any]) -> str:
    """Return the export as one self-contained HTML file.

    Style and script are inside, and its own policy lets no others run.
    """
    style, script = raw("page.css"), raw("export.js")
    hashes = {
        name: "'sha256-%s'" % base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        for name, text in (("style", style), ("script", script))
    }
    policy = (
        "default-src 'none'; script-src %(script)s; style-src %(style)s; base-uri "
        "'none'; form-action 'none'"
    ) % hashes
    return (
        environment()
        .get_template("export.html")
        .render(
            {
                **values,
                "style": Markup(style),
                "script": Markup(script),
                "policy": policy,
                "to_record": lambda id: "#" + quote(id, safe=""),
                "to_session": lambda told: "#" + quote(told["record"], safe=""),
            }
        )
    )


def require_free_path(path: str) -> None:
    """Check that a new file may be written at a path.

    Raises StoreError where a file exists, or no folder for it.
    """
    said, folder = plaintext.one_line(path), os.path.dirname(os.path.abspath(path))
    if os.path.lexists(path):
        raise StoreError("%s is there already; --export never overwrites, name another FILE" % said)
    if not files.is_folder(folder):
        raise StoreError(
            "%s: not written, %s is no folder; make it first, or name another FILE"
            % (said, plaintext.one_line(folder))
        )


def save(path: str, values: dict[str, Any]) -> int:
    """Write the export to a new file and return its bytes.

    Raises StoreError.
    """
    text = export_page(values).encode("utf-8", "replace")
    try:
        files.create(path, text)
    except FileExistsError:
        require_free_path(path)
        raise
    except OSError as error:
        raise StoreError(
            "%s: not written, %s; name a FILE elsewhere"
            % (plaintext.one_line(path), (error.strerror or str(error)).lower())
        ) from None
    return len(text)
