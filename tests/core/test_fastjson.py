"""JSON without the json module."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from memory.core import fastjson

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def test_json_without_the_json_module_agrees_with_it():
    """Both directions, over nested values and text with every kind of character."""
    value = {"a": [1, -2.5, True, False, None, 'é😀\n"\\\u2028'], "b": {"c": []}, "": "x" * 5000}
    assert fastjson.parse(json.dumps(value)) == value
    assert fastjson.parse("\ufeff " + json.dumps(value, ensure_ascii=False)) == value
    assert json.loads(fastjson.dump(value)) == value


@pytest.mark.parametrize("text", ["", "{", "[1,]", "nope", '{"a":1} x', "[" * 100000])
def test_broken_json_is_a_value_error(text):
    """Truncated, trailing, nested beyond sense."""
    with pytest.raises(ValueError):
        fastjson.parse(text)


@pytest.mark.parametrize("text", ["{", '"abc', '{"a":1,}', "[1", ""])
def test_broken_json_is_a_value_error_where_nobody_imported_json(text):
    """As in a hook: up to Python 3.11 the C scanner needs `json.decoder` to raise its own error."""
    code = (
        "import sys; sys.path.insert(0, sys.argv[1])\nfrom memory.core import fastjson as jsonio\n"
        "try: jsonio.parse(sys.argv[2])\nexcept ValueError: print('ValueError', "
        "'json' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", code, str(ROOT), text], capture_output=True, text=True
    )
    assert (done.stdout, done.stderr) == ("ValueError False\n", "")


def test_a_lone_surrogate_never_leaves():
    """In a context it would make every later API call fail."""
    json.loads(fastjson.dump({"a": "x\ud800y"}))["a"].encode("utf-8")
