#!/usr/bin/env python3
# SPDX-License-Identifier: EPL-2.0
"""Feeds broken ``.xmm`` files to the reader and to what ``inspect`` does with them.

A model is read or refused with XmmError, within a second of processor time and 100 MB of memory; anything else ends the
run with exit code 1 and leaves the input in a file. With atheris installed libFuzzer makes the inputs, else a mutator
that gives the same ones for the same seed.

    python tests/fuzz/xmm_fuzz.py --runs 1000000
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import importlib.util
import io
import json
import random
import resource
import shutil
import struct
import sys
import tempfile
import time
import traceback
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
CORPUS = HERE / "corpus"
MAX_SECONDS = 1.0
MAX_MEMORY_KB = 100 << 10
MAX_LENGTH = 8192
INTERESTING = (
    0,
    1,
    2,
    4,
    8,
    9,
    0x7F,
    0x80,
    0xFF,
    0x7FFF,
    0x8000,
    0xFFFF,
    0x7FFFFFFF,
    0x80000000,
    0xFFFFFFFC,
    0xFFFFFFFF,
)


class Finding(Exception):  # noqa: N818 - what is found is an error of others
    """An input that did what none may do."""


class Target:
    """What is fuzzed, and what it took.

    :ivar inputs: Inputs so far.
    :ivar read: How many of them were models.
    :ivar slowest: Processor time of the slowest, in seconds.
    """

    def __init__(self) -> None:
        from aidge_export_gk7206.npu import inspect
        from aidge_export_gk7206.npu.xmm import XmmError, read

        self._read, self._error, self._inspect = read, XmmError, inspect
        self.inputs = self.read = 0
        self.slowest = 0.0
        self._start = time.monotonic()
        for file in corpus():
            self._once(file)
        self._memory = _peak_kb()

    def __call__(self, data: bytes) -> None:
        """Runs one input.

        :raises Finding: It breaks a promise.
        """
        before = time.process_time()
        try:
            self.read += self._once(data)
        except Exception as error:
            raise Finding(traceback.format_exc()) from error
        seconds = time.process_time() - before
        self.inputs += 1
        self.slowest = max(self.slowest, seconds)
        if seconds > MAX_SECONDS:
            raise Finding(f"took {seconds:.2f} s")
        if self.memory_kb > MAX_MEMORY_KB:
            raise Finding(f"{self.memory_kb >> 10} MB more than before")

    def _once(self, data: bytes) -> bool:
        try:
            model = self._read(data)
        except self._error as error:
            assert "\n" not in str(error)
            return False
        told = self._inspect.description(model, "fuzz.xmm")
        json.dumps(told, allow_nan=False)
        with contextlib.redirect_stdout(io.StringIO()):
            self._inspect.print_tables(told)
        return True

    @property
    def memory_kb(self) -> int:
        """Growth of the process since the corpus was read, at its peak."""
        return _peak_kb() - self._memory

    def report(self, engine: str) -> None:
        """Prints the figures."""
        seconds = time.monotonic() - self._start
        print(
            f"{engine}: {self.inputs} inputs in {seconds:.0f} s, {self.inputs / max(seconds, 1e-9):.0f} inputs/s; "
            f"{self.read} were models; slowest {self.slowest * 1000:.1f} ms; "
            f"memory {self.memory_kb / 1024:.1f} MB above the start, {_peak_kb() / 1024:.0f} MB in all",
            flush=True,
        )


def _peak_kb() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def corpus() -> list[bytes]:
    """The inputs to begin with."""
    return [file.read_bytes() for file in sorted(CORPUS.glob("*.xmm"))]


def mend(data: bytes, lengths: bool) -> bytes:
    """Makes a header right, so that what follows it is looked at.

    :param data: A file.
    :type data: bytes
    :param lengths: Also let the description end with the file.
    :type lengths: bool
    :return: The file with magic number and checksum.
    :rtype: bytes
    """
    if len(data) < 16:
        return data
    start, size = struct.unpack_from("<2I", data, 8)
    if lengths and start < len(data):
        size = len(data) - start
    numbers = struct.pack("<2I", start, size)
    return struct.pack("<2I", 0x5A5A5A5A, zlib.crc32(numbers)) + numbers + data[16:]


def mutate(data: bytes, others: list[bytes], rng: random.Random) -> bytes:
    """Changes a file in a few places."""
    changed = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 3, 5, 8))):
        size = len(changed)
        if size < 24:
            return bytes(changed)
        at = rng.randrange(size - 8)
        # Offsets and counts are aligned words, mostly in the description.
        word = rng.randrange(size // 8, (size - 4) // 4) * 4
        kind = rng.randrange(9)
        if kind <= 2:
            struct.pack_into("<I", changed, word, rng.choice((rng.choice(INTERESTING), rng.randrange(size))))
        elif kind == 3:
            near = struct.unpack_from("<I", changed, word)[0] + rng.choice((-8, -4, -2, -1, 1, 2, 4, 8, size))
            struct.pack_into("<I", changed, word, near & 0xFFFFFFFF)
        elif kind == 4:
            struct.pack_into("<H", changed, word + rng.choice((0, 2)), rng.choice(INTERESTING) & 0xFFFF)
        elif kind == 5:
            changed[at] ^= 1 << rng.randrange(8)
        elif kind == 6:
            length = rng.randrange(4, 65)
            source = rng.choice(others)
            begin = rng.randrange(max(len(source) - length, 1))
            changed[word : word + length] = source[begin : begin + length]
        elif kind == 7:
            del changed[word : word + 4 * rng.randrange(1, 9)]
        else:
            changed[word:word] = bytes(changed[word : word + 4 * rng.randrange(1, 9)])
    return bytes(changed[:MAX_LENGTH])


def built_in(runs: int, seed: int) -> Iterator[bytes]:
    """Inputs of the mutator, the same for the same seed."""
    rng = random.Random(seed)
    files = corpus()
    yield from files[:runs]
    for _ in range(runs - len(files)):
        data = mutate(rng.choice(files), files, rng)
        yield data if rng.random() < 0.03 else mend(data, rng.random() < 0.9)


def run_built_in(runs: int, seed: int) -> int:
    """Runs the mutator.

    :return: Exit code.
    """
    target = Target()
    for data in built_in(runs, seed):
        try:
            target(data)
        except Finding as finding:
            return _found(data, finding)
    target.report("built-in mutator")
    return 0


def _found(data: bytes, finding: Finding) -> int:
    path = Path(f"xmm_fuzz_{hashlib.sha256(data).hexdigest()[:12]}.xmm")
    path.write_bytes(data)
    print(f"{finding}\nleft the input in {path}", file=sys.stderr)
    return 1


def run_atheris(atheris: Any, runs: int, seed: int) -> None:
    """Runs libFuzzer, which ends the process itself."""
    with atheris.instrument_imports(include=["aidge_export_gk7206", "flatbuffers"]):
        target = Target()

    def one(data: bytes) -> None:
        target(data)
        if target.inputs == runs:
            target.report("atheris")

    def mutator(data: bytes, max_size: int, step_seed: int) -> bytes:
        changed = bytes(atheris.Mutate(data, max_size))
        return mend(changed, step_seed % 8 != 0) if step_seed % 32 else changed

    # libFuzzer writes what it finds interesting into the corpus that it is given.
    copy = Path(tempfile.mkdtemp(prefix="xmm_fuzz_")) / "corpus"
    shutil.copytree(CORPUS, copy)
    options = [f"-runs={runs}", f"-seed={seed}", f"-max_len={MAX_LENGTH}", "-timeout=60", "-rss_limit_mb=2048"]
    atheris.Setup([sys.argv[0], *options, "-print_final_stats=1", str(copy)], one, custom_mutator=mutator)
    atheris.Fuzz()


def main() -> int:
    """Runs the fuzzer.

    :return: Exit code.
    :rtype: int
    """
    parser = argparse.ArgumentParser(description="Feeds broken .xmm files to the reader.")
    parser.add_argument("--runs", type=int, default=20_000, help="inputs (default: 20000)")
    parser.add_argument("--seed", type=int, default=1, help="of the mutator (default: 1)")
    parser.add_argument("--engine", choices=("auto", "atheris", "built-in"), default="auto")
    options = parser.parse_args()
    # The reader without the package's __init__, which would import Aidge.
    sys.path.insert(0, str(HERE.parents[1]))
    spec = importlib.util.find_spec("aidge_export_gk7206")
    assert spec is not None
    sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    if options.engine != "built-in" and (options.engine == "atheris" or importlib.util.find_spec("atheris")):
        import atheris

        run_atheris(atheris, options.runs, options.seed)
    return run_built_in(options.runs, options.seed)


if __name__ == "__main__":
    sys.exit(main())
