# SPDX-License-Identifier: EPL-2.0
"""What an NPU session adds around the NPU's run, on the simulator: the way of a 640x640x3 image of uint8.

Measured is the session's own work: writing the input by its pitches, the flushes of inputs and outputs, reading an
output of 16 bytes. What is between, binding and the simulator's run, is not. The yardstick is one memcpy of the image
into the same memory, in the same rounds. With buffers that are not cached nothing is flushed. With cached ones the
simulator's flush copies and compares every line, which a board's does not do; there the yardstick is a memcpy and the
library's bare flush.
"""

from pathlib import Path

from aidge_export_gk7206.npu.writer import TensorSpec, XmmSpec, write_xmm
from bench.contenders import Work
from bench.machine import PROGRAMS, REPOSITORY, pinned, run
from bench.results import Figure

RATIO = "session around process() / copy of the same bytes, uint8 640x640x3"
SPEED = "conversion, float32 side"
_LIMIT = 1.2
_SIDE = 640


def measure(work: Work, core: int, rounds: int) -> list[Figure]:
    """Times everything in one program, in turn."""
    folder = work.folder / "session"
    program = _build(folder)
    answer = run([*pinned(core), program, folder / "image.xmm", str(rounds)], env={"XMEDIA_SIM_QUIET": "1"})
    rows = [line.split() for line in answer.splitlines()]
    times = {name: int(nanoseconds) for name, nanoseconds, _ in rows}
    size = {name: int(size) for name, _, size in rows}
    own = {"uncached": "memcpy", "cached": "bare_cached"}
    figures = [
        Figure(
            RATIO,
            kind,
            times[f"session_{kind}"] / times[yardstick],
            limit=_LIMIT,
            note=f"{times[f'session_{kind}'] / 1e3:.1f} against {times[yardstick] / 1e3:.1f} us of "
            + ("memcpy" if kind == "uncached" else "memcpy and bare flush"),
        )
        for kind, yardstick in own.items()
    ]
    names = {
        "quantise": "to uint8",
        "quantise_normalised": "to uint8, scaled and shifted by channel, channels swapped",
        "dequantise": "from uint8",
    }
    figures += [
        Figure(SPEED, text, size[name] / times[name], "GB/s", note=f"{times[name] / 1e6:.2f} ms")
        for name, text in names.items()
    ]
    return figures


def _build(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    tensors = [TensorSpec([1, _SIDE, _SIDE, 3], "input", name="image"), TensorSpec([16], "output")]
    (folder / "image.xmm").write_bytes(write_xmm(XmmSpec([*tensors, TensorSpec([64], "workspace")])))
    options = ["-DKIND=session", f"-DFOLDER={REPOSITORY / 'simulator'}", "-DCMAKE_BUILD_TYPE=Release"]
    run(["cmake", "-S", PROGRAMS, "-B", folder / "build", *options])
    run(["cmake", "--build", folder / "build", "--target", "session_overhead"])
    return folder / "build" / "session_overhead"
