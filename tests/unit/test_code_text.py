# SPDX-License-Identifier: EPL-2.0
"""Texts and numbers as C++, names as identifiers, weights as assembly."""

from __future__ import annotations

import math
import re
from pathlib import Path

import numpy as np
import pytest

from aidge_export_gk7206 import parameters
from aidge_export_gk7206.code_text import c_comment, c_float, c_list, c_string
from aidge_export_gk7206.naming import sanitize_name

HOSTILE = [
    "plain",
    "",
    'with "quotes"',
    "new\nline\rand\ttab",
    "back\\slash\\",
    "trigraph ??/ ??= ??)",
    "ünïcode ☃ 漢字",
    "*/ int x; /*",
    "// comment \\",
    "octal \x01" + "23",
    "%s %d {0} {{ x }} {% y %}",
    "\0zero\x7f",
]


def read_c_string(literal: str) -> str:
    """What a C compiler makes of a literal that has octal escapes only."""
    assert literal[0] == literal[-1] == '"'
    inner = literal[1:-1]
    assert re.fullmatch(r'(?:[^"\\?]|\\[0-7]{3})*', inner), inner
    data = re.sub(r"\\([0-7]{3})", lambda match: chr(int(match.group(1), 8)), inner)
    return data.encode("latin-1").decode("utf-8")


@pytest.mark.parametrize("text", HOSTILE)
def test_strings(text: str) -> None:
    literal = c_string(text)
    assert literal.isascii() and literal.isprintable()
    assert "??" not in literal
    assert read_c_string(literal) == text


@pytest.mark.parametrize("text", HOSTILE)
def test_comments_stay_in_their_line(text: str) -> None:
    comment = c_comment(text)
    assert comment.isascii() and "\n" not in comment and "\r" not in comment
    assert not comment.endswith("\\"), "a backslash would continue the comment on the next line"
    assert not comment.endswith("??/"), "so would its trigraph"


@pytest.mark.parametrize(
    ("value", "literal"),
    [(0.0, "0.0F"), (6.0, "6.0F"), (-1.5, "-1.5F"), (0.1, "0.1F"), (1e-30, "1.0e-30F"), (1 / 6, "0.16666667F")],
)
def test_floats(value: float, literal: str) -> None:
    assert c_float(value) == literal


def test_floats_are_exact() -> None:
    random = np.random.default_rng(0)
    bits = random.integers(0, 2**32, 2000, dtype=np.uint32)
    for value in bits.view(np.float32):
        text = c_float(float(value))
        if math.isnan(value):
            assert text == "std::numeric_limits<float>::quiet_NaN()"
        elif math.isinf(value):
            assert text.endswith("std::numeric_limits<float>::infinity()")
            assert text.startswith("-") == (value < 0)
        else:
            assert re.fullmatch(r"-?\d+\.\d+(e[+-]?\d+)?F", text), text
            assert np.float32(text[:-1]) == value


def test_lists() -> None:
    assert c_list([]) == "{}"
    assert c_list([1, -2]) == "{1, -2}"


@pytest.mark.parametrize(
    ("name", "identifier"),
    [
        ("lenet", "lenet"),
        ("my-model 1", "my_model_1"),
        ("MobileNet v2.onnx", "mobilenet_v2_onnx"),
        ("3d", "model_3d"),
        ("", "model"),
        ("---", "model"),
        ("ünï", "n"),
        ("__x__", "x"),
    ],
)
def test_names(name: str, identifier: str) -> None:
    assert sanitize_name(name) == identifier


@pytest.mark.parametrize("name", [*HOSTILE, "class", "int", "main", "double", "operator"])
def test_names_are_identifiers(name: str) -> None:
    assert re.fullmatch(r"[a-z][a-z0-9_]*", sanitize_name(name))


def test_weights(tmp_path: Path) -> None:
    """Every array is a file and a symbol, in alphabetical order whatever the order of writing."""
    parameters.write(tmp_path, "b_weights", np.arange(6, dtype=">f4").reshape(2, 3))
    parameters.write(tmp_path, "a_bias", np.array([1.5, -2], np.float32))
    folder = tmp_path / parameters.FOLDER
    assert (folder / "b_weights.bin").read_bytes() == np.arange(6, dtype="<f4").tobytes()
    text = (folder / "weights.S").read_text(encoding="utf-8")
    assert re.findall(r"\.global (\w+)", text) == ["a_bias", "b_weights"]
    assert re.findall(r"^(\w+):\n    \.incbin \"(.*)\"", text, re.MULTILINE) == [
        ("a_bias", "dnn/parameters/a_bias.bin"),
        ("b_weights", "dnn/parameters/b_weights.bin"),
    ]
    assert text.count(".balign 64") == 2
    tail = re.search(r"\.zero (\d+)", text)
    assert tail is not None and int(tail.group(1)) >= 128, "vector loads may pass the end of the last array"


def test_transposed_arrays_are_written_as_they_read(tmp_path: Path) -> None:
    array = np.arange(6, dtype=np.float32).reshape(2, 3).T
    parameters.write(tmp_path, "x", array)
    assert (tmp_path / parameters.FOLDER / "x.bin").read_bytes() == array.copy().tobytes()
