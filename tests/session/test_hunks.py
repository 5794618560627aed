"""What edits changed: told whole or not at all."""

from __future__ import annotations

import pytest

from memory.session import hunks


@pytest.mark.parametrize(("hunk", "told"), [
    ("-a = first()\n+a = last()", [("-", "a = first()"), ("+", "a = last()")]),
    ("-  if cmd.Hidden {\n+if cmd.Hidden {\n+  }", []),
    ("+// why\n+retries = 3", [("+", "retries = 3")]),
    ("-retries = 3  # of old\n+retries = 3  # anew", []),
    ('+run("--print", "--json")', [("+", 'run("--print", "--json")')]),
    ('+fmt.Printf("here %d", at)\n+console.log(at)', []),
    ('+echo "here $at"\n+  printf "%s" "$at"', []),
    ("+one()\n+two()\n+three()\n+four()", []),
    ("-if ready {\n+if ready …", [])])
def test_a_change_is_told_whole_or_not_at_all(hunk, told):
    """Not where it is long or cut; comments and lines for the log say nothing, nor does a line that only moved."""
    assert hunks.told(hunk, 3) == told


def test_lines_are_cut_so_that_their_difference_is_seen():
    """Both at the same place."""
    start = "return enable(cmd.OutOrStdout(), localDev, ignoreUntracked, useLocalSettings, useProjectSettings, "
    old, new = hunks.apart(start + "force)", start + "force, noTelemetry)", 60)
    assert old.startswith("…") and old.endswith("force)") and new.endswith("force, noTelemetry)") and len(new) < 60
    assert hunks.apart("a = 1", "a = 2", 60) == ("a = 1", "a = 2")


def test_what_lasted_of_an_edit_is_what_no_later_one_took_back():
    """Of a removal, what was not put back."""
    assert hunks.lasting("-a = 1\n+a = 2\n+b = 1", ["-a = 2\n+a = 3"]) == {"b = 1"}
    assert hunks.lasting("-a = 1\n-b = 1", ["+b = 1"]) == {"a = 1"}


def test_an_edit_of_comments_alone_is_one():
    """Not one that is cut, or unknown."""
    assert hunks.is_comment("+//nolint:ireturn // a factory") and hunks.is_comment("-a = 1  # old\n+a = 1  # new")
    assert not any(map(hunks.is_comment, ("", "+// why …", "+a = 1")))


@pytest.mark.parametrize(("changed", "gone"), [
    (["-func openPool(n int) *Pool {\n-\treturn nil"], {"openPool"}),
    (["-def open_pool(n):\n+def take_pool(n):"], set()),
    (["-func openPool(n int) *Pool {", "+func openPool(n int, m int) *Pool {"], set()),
    (["-\tdef open_pool(self):", "-func (p *Pool) openPool() {", "-\tpool := openPool(1)"], set())])
def test_a_name_is_gone_where_its_definition_went(changed, gone):
    """Not where it was renamed, moved or defined anew; of methods and locals another may bear the name."""
    assert hunks.undefined(changed) == gone


def test_a_change_stands_beside_its_file_or_below():
    """One line in place of another, one alone, several."""
    def told(*changed):
        return hunks.shown(list(changed), lambda line, _: "`%s`" % line)
    assert told(("-", "a = 1"), ("+", "a = 2")) == ": `a = 1` → `a = 2`" and told(("-", "a = 1")) == ": − `a = 1`"
    assert told(("+", "a = 1"), ("+", "b = 2")) == "\n\n      + a = 1\n      + b = 2" and told() == ""


def test_an_edit_of_how_long_something_waits_is_one_of_a_limit():
    """Not one of other numbers, also of a count, or of words, nor one that only adds."""
    assert hunks.is_limit("-timeout: 20m\n+timeout: 45m", "The timeout is `20m`.")
    assert not any(hunks.is_limit(hunk, "The timeout is `20m`.") for hunk in (
        "-at: 3\n+at: 4", "-most: 20\n+most: 45", "-timeout: 20m\n+delay: 45m", "+timeout: 20m"))


@pytest.mark.parametrize(("changed", "became"), [
    (["-func openPool() error {\n+func openRetryPool() error {"], {"openPool": ("openRetryPool", 0)}),
    (["-a = poolCount\n+a = slotCount", "-b += poolCount\n+b += slotCount"], {"poolCount": ("slotCount", 1)}),
    (["-a = poolCount\n+a = slotCount"], {}),  # used once only, and not defined there
    (["-a = poolCount\n+a = slotCount", "-b += poolCount\n+b += slotCount", "+c = poolCount"], {}),  # it is still used
    (["+def open_pool():", "-def open_pool():\n+def open_lazy_pool():"], {"open_pool": ("open_lazy_pool", 1)}),
    (["-a = closeAll()\n+a = openPool()", "-b = closeAll()\n+b = openPool()"], {}),  # another one is called
    (["-def open_pool(a):\n+def open_lazy_pool(a, b):"], {})])
def test_a_name_is_replaced_where_lines_are_else_the_same(changed, became):
    """In its definition or in two lines, by one that shares a part with it, and none uses it since."""
    assert hunks.renamed(changed) == became


def test_a_name_and_its_opposite_are_two_things():
    """What is turned round is not called otherwise."""
    assert hunks.renamed(["-if no_telemetry:\n+if telemetry:", "-run(no_telemetry)\n+run(telemetry)"]) == {}
    assert hunks.renamed(["-if telemetry:\n+if noTelemetry:", "-run(telemetry)\n+run(noTelemetry)"]) == {}
    for old, new in (("not_found", "found"), ("notFound", "found"), ("nonEmptyRows", "emptyRows"), ("without_cache", "cache")):
        assert hunks.renamed(["-if %s:\n+if %s:" % (old, new), "-run(%s)\n+run(%s)" % (old, new)]) == {}


def test_the_lines_that_came_and_bear_a_name():
    """Of code, whole, more than the name alone, and few."""
    hunk = "-pool = open()\n+pool = open_pool(1)  # the first\n+log(pool)\n+# open_pool waits\n+open_pool\n+x = open_pool( …"
    assert hunks.bearing(hunk, {"open_pool"}, 2) == ["pool = open_pool(1)"]
    assert hunks.bearing("+a = open_pool(1)\n+b = open_pool(2)", {"open_pool"}, 1) == []
