"""Every regular expression of the package, how it is used, and texts made of its own parts to slow
it down.
"""

from __future__ import annotations

import ast
import importlib
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from harness.hook import ROOT

try:
    from re import _constants as constants
    from re import _parser as parser
except ImportError:  # Python 3.10
    import sre_constants as constants  # type: ignore[no-redef]
    import sre_parse as parser  # type: ignore[no-redef]

METHODS = ("search", "match", "fullmatch", "finditer", "findall", "sub", "subn", "split")
AT_START = frozenset(("match", "fullmatch"))
COMPILERS = ("compile", "LazyPattern", "rx", *METHODS)
UNKNOWN = "name"  # stands for what a pattern takes from elsewhere
LONG = 12  # times that a part may repeat, from which on it counts as a repeat
TAILS = ("", "\0", "\n", "!", "a b")
MOST_SAMPLES, MOST_PUMPS = 4, 70


class Expression(NamedTuple):
    """An expression: where it stands, its pattern and flags, the methods that it is used by."""

    where: str
    pattern: str | bytes
    flags: int
    methods: frozenset[str]

    @property
    def anchored(self) -> bool:
        """Whether it is only tried at the start of a text."""
        return bool(self.methods) and self.methods <= AT_START


# --- where they stand


def modules() -> list[str]:
    """Return the names of all modules of the package."""
    return sorted(
        ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
        for path in Path(ROOT, "memory").rglob("*.py")
        if path.name != "__main__.py"
    )


def every() -> list[Expression]:
    """Return each expression of the package once, by pattern and flags."""
    found: dict[tuple[str | bytes, int], tuple[str, set[str]]] = {}
    nodes = {name: list(ast.walk(_tree(name))) for name in modules()}
    everywhere = _uses(nodes.values())
    for name, own in nodes.items():
        module = _module(name)
        used = {
            **everywhere,
            **{key: methods for key, methods in _uses([own]).items() if key.startswith("_")},
        }
        for where, pattern, flags, methods in (
            *_held(name, module, used),
            *_written(name, module, own),
        ):
            known = found.setdefault((pattern, flags), (where, set()))
            known[1].update(methods or {"finditer"})
    return [
        Expression(where, pattern, flags, frozenset(methods))
        for (pattern, flags), (where, methods) in found.items()
    ]


def _tree(name: str) -> ast.AST:
    path = Path(ROOT, *name.split("."))
    file = path.with_suffix(".py")
    return ast.parse((file if file.is_file() else path / "__init__.py").read_text("utf-8"))


def _module(name: str) -> object:
    try:
        return importlib.import_module(name)
    except ImportError:  # a package that only some have
        return None


def _uses(everything: Iterable[list[ast.AST]]) -> dict[str, set[str]]:
    """Return by name the methods that something of that name is used by, anywhere."""
    found: dict[str, set[str]] = {}
    for nodes in everything:
        for node in nodes:
            if isinstance(node, ast.Attribute) and node.attr in METHODS:
                name = (
                    node.value.id
                    if isinstance(node.value, ast.Name)
                    else getattr(node.value, "attr", "")
                )
                found.setdefault(name, set()).add(node.attr)
    return found


Row = tuple[str, "str | bytes", int, set[str]]


def _held(name: str, module: object, used: dict[str, set[str]]) -> Iterator[Row]:
    """Yield the expressions that a module holds, by itself or in its tables."""
    for key, value in vars(module).items() if module is not None else ():
        if (
            key.startswith("__")
            or getattr(value, "__module__", name) != name
            and not _is_pattern(value)
        ):
            continue
        for one in _inside(value, 4):
            methods = used.get(key, set()) if _is_pattern(value) else {"finditer"}
            yield (
                "%s:%s" % (name, key),
                one.pattern,
                one.flags & ~re.UNICODE if isinstance(one, re.Pattern) else one.flags,
                methods,
            )


def _is_pattern(value: object) -> bool:
    return isinstance(value, re.Pattern) or type(value).__name__ == "LazyPattern"


def _inside(value: object, depth: int) -> Iterator[re.Pattern[str]]:
    if _is_pattern(value):
        yield value  # type: ignore[misc]
    elif depth and isinstance(value, dict):
        for one in (*value.keys(), *value.values()):
            yield from _inside(one, depth - 1)
    elif depth and isinstance(value, (list, tuple, set, frozenset)):
        for one in value:
            yield from _inside(one, depth - 1)


def _written(name: str, module: object, nodes: list[ast.AST]) -> Iterator[Row]:
    """Yield the expressions that stand in the text of functions: the first argument of `re.search`
    and its kin.
    """
    for node in nodes:
        called = node.func if isinstance(node, ast.Call) else None
        word = getattr(called, "attr", getattr(called, "id", ""))
        ours = (
            isinstance(called, ast.Name)
            or isinstance(getattr(called, "value", None), ast.Name)
            and called.value.id == "re"
        )
        if not isinstance(node, ast.Call) or word not in COMPILERS or not ours or not node.args:
            continue
        pattern = _text(node.args[0], module)
        if pattern is None:
            continue
        flags = 0
        for one in (
            *node.args[1:],
            *(keyword.value for keyword in node.keywords if keyword.arg == "flags"),
        ):
            flags |= _flags(one)
        try:
            re.compile(pattern, flags)
        except re.error:
            continue
        if word in METHODS:
            yield "%s:%d" % (name, node.lineno), pattern, flags, {word}
        elif not isinstance(called, ast.Attribute) or word == "compile":
            yield from _methods_after(name, nodes, node, pattern, flags)


def _methods_after(
    name: str, nodes: list[ast.AST], call: ast.Call, pattern: str | bytes, flags: int
) -> Iterator[Row]:
    """Yield an expression that is made where it is used: `rx(…).search(text)`."""
    for node in nodes:
        if isinstance(node, ast.Attribute) and node.value is call and node.attr in METHODS:
            yield "%s:%d" % (name, call.lineno), pattern, flags, {node.attr}


def _text(node: ast.AST, module: object) -> str | bytes | None:
    """Return the text that an expression gives, with UNKNOWN for what is known only as it runs;
    None for no text.
    """
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, (str, bytes)) else None
    if isinstance(node, ast.Name):
        value = getattr(module, node.id, None)
        return value if isinstance(value, (str, bytes)) else None
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        left, right = _text(node.left, module), _text(node.right, module)
        if left is None and right is None:
            return None
        kind = bytes if isinstance(left, bytes) or isinstance(right, bytes) else str
        sides = [
            one if one is not None else UNKNOWN if kind is str else UNKNOWN.encode()
            for one in (left, right)
        ]
        return sides[0] + sides[1]  # type: ignore[operator]
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod):
        left = _text(node.left, module)
        return re.sub(r"%[sd]", UNKNOWN, left).replace("%%", "%") if isinstance(left, str) else None
    if isinstance(node, ast.JoinedStr):
        return "".join(
            str(one.value) if isinstance(one, ast.Constant) else UNKNOWN for one in node.values
        )
    return None


def _flags(node: ast.AST) -> int:
    return sum(
        {
            getattr(re, one.attr)
            for one in ast.walk(node)
            if isinstance(one, ast.Attribute)
            and one.attr in ("I", "M", "S", "X", "A", "IGNORECASE", "MULTILINE", "DOTALL")
        }
    )


# --- what slows them down

PLAIN = (
    "a",
    "A",
    " ",
    "\n",
    "\t",
    "[",
    "]",
    "(",
    ")",
    "{",
    "<",
    ">",
    '"',
    "'",
    "`",
    "/",
    "\\",
    ".",
    "-",
    "_",
    "0",
    ":",
    "=",
    "*",
    "#",
    "|",
    ",",
    ";",
    "@",
    "$",
    "%",
    "&",
    "é",
    "가",
    "a ",
    "a.",
    "a-",
    "a/",
    "a:",
    "a=",
    " \n",
    "\n\n",
    "- ",
    "`a",
    "[[",
    "a\n",
    "a_",
    "0.",
    "<a",
    "</",
    "--",
    "**",
    "''",
    "\\\\",
    '\\"',
    "A0",
    "a, ",
    "a b ",
)


def pumps(one: Expression) -> list[tuple[str, str]]:
    """Return (what stands before, what is repeated) of the texts that may slow an expression
    down.
    """
    found: dict[tuple[str, str], None] = {}
    text = one.pattern.decode("latin-1") if isinstance(one.pattern, bytes) else one.pattern
    try:
        tree = parser.parse(text, one.flags & ~re.UNICODE & ~re.DEBUG)
    except (re.error, ValueError):
        tree = []
    for before, body in _repeats(list(tree), [""]):
        for lead in before:
            for part in body:
                found.setdefault((lead, part))
                found.setdefault(("", lead + part))
                found.setdefault(("", lead))
        for part in body:
            found.setdefault(("", part))
        for part, other in zip(body, body[1:]):
            found.setdefault(("", part + other))
    own = [pair for pair in found if pair[1]]
    return list(dict.fromkeys([*own[:MOST_PUMPS], *(("", part) for part in PLAIN)]))


def _repeats(
    nodes: list[tuple[object, object]], before: list[str]
) -> Iterator[tuple[list[str], list[str]]]:
    """Yield (what may stand before it, what its body takes) of each repeat in a parse tree."""
    lead = before
    for op, value in nodes:
        for inner in _children(op, value):
            yield from _repeats(list(inner), lead)
        if (
            op
            in (
                constants.MAX_REPEAT,
                constants.MIN_REPEAT,
                getattr(constants, "POSSESSIVE_REPEAT", None),
            )
            and value[1] > LONG
        ):
            yield lead, [one for one in _samples(list(value[2])) if one]
        taken = _sample_of(op, value)
        lead = [a + b for a in lead for b in taken][:MOST_SAMPLES] or lead


def _children(op: object, value: object) -> list[list[tuple[object, object]]]:
    if op is constants.BRANCH:
        return [list(one) for one in value[1]]  # type: ignore[index]
    if op is constants.SUBPATTERN:
        return [list(value[3])]  # type: ignore[index]
    if op in (
        constants.MAX_REPEAT,
        constants.MIN_REPEAT,
        getattr(constants, "POSSESSIVE_REPEAT", None),
    ):
        return [list(value[2])]  # type: ignore[index]
    if op in (constants.ASSERT, constants.ASSERT_NOT):
        return [list(value[1])]  # type: ignore[index]
    if op is getattr(constants, "ATOMIC_GROUP", None):
        return [list(value)]  # type: ignore[call-overload]
    return []


def _samples(nodes: list[tuple[object, object]]) -> list[str]:
    """Return some texts that a sequence takes."""
    made = [""]
    for op, value in nodes:
        taken = _sample_of(op, value) or [""]
        made = [a + b for a in made for b in taken][:MOST_SAMPLES]
    return list(dict.fromkeys(made))


def _sample_of(op: object, value: object) -> list[str]:
    """Return some texts that one node takes."""
    if op is constants.LITERAL:
        return [chr(value)]  # type: ignore[arg-type]
    if op is constants.NOT_LITERAL:
        return [next(one for one in "a ." if ord(one) != value)]
    if op is constants.ANY:
        return ["a", " "]
    if op is constants.IN:
        return _of_class(value)  # type: ignore[arg-type]
    if op is constants.BRANCH:
        branches = value[1]  # type: ignore[index]
        return [one for branch in branches for one in _samples(list(branch))[:2]][:MOST_SAMPLES]
    if op is constants.SUBPATTERN:
        return _samples(list(value[3]))  # type: ignore[index]
    if op is getattr(constants, "ATOMIC_GROUP", None):
        return _samples(list(value))  # type: ignore[call-overload]
    if op in (
        constants.MAX_REPEAT,
        constants.MIN_REPEAT,
        getattr(constants, "POSSESSIVE_REPEAT", None),
    ):
        low, high = value[0], value[1]  # type: ignore[index]
        inner = _samples(list(value[2]))  # type: ignore[index]
        some = [one * max(low, 1) for one in inner]
        return list(dict.fromkeys(["", *some] if not low and high < LONG else some))[:MOST_SAMPLES]
    return [""]


CLASSES = {
    "CATEGORY_DIGIT": ["0"],
    "CATEGORY_SPACE": [" ", "\n"],
    "CATEGORY_WORD": ["a", "0"],
    "CATEGORY_NOT_DIGIT": ["a"],
    "CATEGORY_NOT_SPACE": ["a", "."],
    "CATEGORY_NOT_WORD": [" ", "."],
}


def _of_class(items: list[tuple[object, object]]) -> list[str]:
    """Return a few characters of a class."""
    plain = [item for item in items if item[0] is not constants.NEGATE]
    if len(plain) < len(items):
        taken = re.compile("[^%s]" % "".join(_spelt(item) for item in plain))
        return [one for one in 'a .-\n<`"[' if taken.match(one)][:3] or ["\x01"]
    found: list[str] = []
    for op, value in plain:
        if op is constants.LITERAL:
            found.append(chr(value))  # type: ignore[arg-type]
        elif op is constants.RANGE:
            found.append(chr(value[0]))  # type: ignore[index]
        elif op is constants.CATEGORY:
            found += CLASSES.get(str(value), [])
    return found[:MOST_SAMPLES]


def _spelt(item: tuple[object, object]) -> str:
    op, value = item
    if op is constants.LITERAL:
        return re.escape(chr(value))  # type: ignore[arg-type]
    if op is constants.RANGE:
        return "%s-%s" % (re.escape(chr(value[0])), re.escape(chr(value[1])))  # type: ignore[index]
    return {
        "CATEGORY_DIGIT": r"\d",
        "CATEGORY_SPACE": r"\s",
        "CATEGORY_WORD": r"\w",
        "CATEGORY_NOT_DIGIT": r"\D",
        "CATEGORY_NOT_SPACE": r"\S",
        "CATEGORY_NOT_WORD": r"\W",
    }.get(str(value), "")
