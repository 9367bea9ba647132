# SPDX-License-Identifier: EPL-2.0
"""The fuzzer of the reader: some thousands of inputs, and that it notices what it is there to notice."""

import importlib.util
import random
import subprocess
import sys
import time
import tracemalloc
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from support.xmm_files import ROOT

FUZZ = ROOT / "tests" / "fuzz"


def load(name: str) -> ModuleType:
    """A script of tests/fuzz as a module."""
    spec = importlib.util.spec_from_file_location(name, FUZZ / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


fuzz = load("xmm_fuzz")


def test_some_thousand_inputs(tmp_path: Path) -> None:
    command = [sys.executable, str(FUZZ / "xmm_fuzz.py"), "--engine", "built-in", "--runs", "5000", "--seed", "3"]
    result = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    assert result.stdout.startswith("built-in mutator: 5000 inputs in ")
    assert list(tmp_path.iterdir()) == []


def test_corpus() -> None:
    """It is what the script makes, and small."""
    made = load("make_corpus").files()
    assert {file.stem: file.read_bytes() for file in (FUZZ / "corpus").iterdir()} == made
    assert sum(map(len, made.values())) < 50_000


def test_the_same_inputs_for_a_seed() -> None:
    first, again, other = (list(fuzz.built_in(50, seed)) for seed in (1, 1, 2))
    assert first == again != other
    assert len(first) == 50


def test_inputs_are_looked_at() -> None:
    """Most have a sound header, and some are models."""
    target = fuzz.Target()
    for data in fuzz.built_in(1000, 5):
        target(data)
    assert target.read > 50
    rng = random.Random(1)
    assert fuzz.mend(bytes(rng.randbytes(64)), True)[:4] == b"ZZZZ"
    assert fuzz.mend(b"short", True) == b"short"


def _raise(*_: Any) -> None:
    raise ValueError("broken on purpose")


def _wait(*_: Any) -> bool:
    before = time.process_time()
    while time.process_time() - before < 0.2:
        pass
    return False


def _take(*_: Any) -> bool:
    return not bytearray(120 << 20)


def tracemalloc_peak_kb() -> int:
    """Peak of what Python has allocated since it was traced."""
    return tracemalloc.get_traced_memory()[1] >> 10


@pytest.mark.parametrize(
    ("fault", "message"), [(_raise, "broken on purpose"), (_wait, "took 0."), (_take, " MB more than before")]
)
def test_it_notices(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str], fault: Any, message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(fuzz, "MAX_SECONDS", 0.1 if fault is _wait else 60.0)
    # The peak of this process, which other tests have made, says nothing.
    monkeypatch.setattr(fuzz, "_peak_kb", tracemalloc_peak_kb)
    target = fuzz.Target()
    monkeypatch.setattr(target, "_once", fault)
    monkeypatch.setattr(fuzz, "Target", lambda: target)
    tracemalloc.start()
    try:
        assert fuzz.run_built_in(10, 1) == 1
    finally:
        tracemalloc.stop()
    (left,) = tmp_path.iterdir()
    assert (left.suffix, left.read_bytes()) == (".xmm", fuzz.corpus()[0])
    error = capsys.readouterr().err
    assert message in error
    assert f"left the input in {left.name}" in error
