#!/usr/bin/env python3
# SPDX-License-Identifier: EPL-2.0
"""A compiled model, the first stage of a face detector, as a program for the GK7206; run here on the NPU's simulator.

The model is a ``.xmm`` file: 12x12 pixels in, a box and the probability of a face out. Where none is given and none
lies in ../shared/data beside the checkout, one of the same shapes and quantisation is written, without a program for
the NPU. A picture with two faces is drawn, and pieces of it are given to the program as raw bytes, as a camera would:
once on this machine, once as the board's program under QEMU. Both must answer the same.

The simulator does not execute the NPU's program: its answers are a pattern made of the input, or golden vectors that
lie beside the model. They show that the program works, not where faces are.

Needs Pillow, a compiler for this machine, and for the board's program g++-arm-linux-gnueabihf and qemu-user.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageDraw

from aidge_export_gk7206.errors import ExportError
from aidge_export_gk7206.export_folder import ExportFolder
from aidge_export_gk7206.npu.writer import NodeSpec, ProgramSpec, TensorSpec, XmmSpec, write_xmm
from aidge_export_gk7206.npu.xmm import XmmFile, read
from aidge_export_gk7206.runners import get_runner
from aidge_export_gk7206.tables import print_table

Array = npt.NDArray[Any]

ROOT = Path(__file__).resolve().parents[2]
SAMPLE = ROOT.parent / "shared" / "data" / "pnet.xmm"
DEFAULT_FOLDER = ROOT / "build" / "gk7206_pnet"
SIZE = 12  # of the pieces that the model looks at
CROPS = {"left face": (6, 7), "right face": (25, 11), "between": (16, 9), "corner": (0, 0)}
BOX, FACE = 0, 1  # outputs of the model: a box, and the probabilities of no face and of a face


@dataclass(frozen=True)
class Answer:
    """What a program says of a piece of the picture.

    :ivar face: Probability of a face.
    :ivar box: How its edges are moved.
    """

    face: float
    box: tuple[float, ...]

    @classmethod
    def of(cls, outputs: Sequence[Array]) -> Answer:
        return cls(float(outputs[FACE].ravel()[1]), tuple(outputs[BOX].ravel().tolist()))


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the example.

    :param arguments: Command line, by default that of the process.
    :return: Exit code: 0 when both programs answer the same.
    """
    options = _options(arguments)
    folder: Path = options.output.resolve()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        model = find_model(options.model, folder)
        file = check_model(model)
        crops = cut_crops(draw_picture(folder))
        answers = {}
        for target in ("host", "gk7206"):
            emulated = target != "host"
            export = export_model(model, target, folder, build=not (emulated and options.skip_qemu))
            if not (emulated and options.skip_qemu):
                answers[target] = run_export(export, crops)
    except ExportError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    report(model, file, answers, folder)
    if any(other != answers["host"] for other in answers.values()):
        print("error: the board's program answers otherwise than this machine's", file=sys.stderr)
        return 1
    return 0


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="A compiled face detector stage as a program, on the NPU's simulator.")
    parser.add_argument("model", metavar="FILE.xmm", type=Path, nargs="?", help=f"the model (default: {SAMPLE})")
    parser.add_argument(
        "-o", "--output", metavar="DIR", type=Path, default=DEFAULT_FOLDER, help="where to write (default: build/...)"
    )
    parser.add_argument("--skip-qemu", action="store_true", help="do not compile and emulate the board's program")
    return parser.parse_args(arguments)


# ---- model and picture -----------------------------------------------------------------------------------------------


def find_model(given: Path | None, folder: Path) -> Path:
    """The model that is asked for, else the one beside the checkout, else one that is made."""
    if given is not None:
        return given
    if SAMPLE.is_file():
        return SAMPLE
    made = folder / "pnet.xmm"
    made.write_bytes(make_model())
    return made


def make_model() -> bytes:
    """A file of the detector's shapes, quantisation and sizes; it holds nothing that an NPU could run."""
    tensors = [
        TensorSpec((1, SIZE, SIZE, 3), "input", name="input"),
        TensorSpec((1, 4, 1, 1), "output", scale=0.00354525377, zero_point=192),
        TensorSpec((1, 2, 1, 1), "output", scale=0.00392156886),
        TensorSpec((2024,), "workspace"),
        TensorSpec((67968,), "constant", data=bytes(67968)),
    ]
    node = NodeSpec("reference_pnet", [0, 4], [1, 2])
    return write_xmm(XmmSpec(tensors=tensors, nodes=[node], programs=[ProgramSpec("placeholder", bytes(62176))]))


def check_model(path: Path) -> XmmFile:
    """Reads the model.

    :raises ExportError: It is another one.
    """
    file = read(path, verify=True)
    sizes = [int(np.prod(tensor.dims)) for tensor in file.outputs]
    if [tensor.dims for tensor in file.inputs] != [(1, SIZE, SIZE, 3)] or sizes != [4, 2]:
        raise ExportError(
            f"{path} is not a detector of this kind: one input 1x{SIZE}x{SIZE}x3, outputs of 4 and 2 values",
            "see what it is with aidge-gk7206 inspect",
        )
    return file


def draw_picture(folder: Path) -> Image.Image:
    """Two faces of the size that the model looks for; ``picture.png``."""
    picture = Image.new("RGB", (44 * 8, 28 * 8), (96, 128, 160))
    draw = ImageDraw.Draw(picture)
    for name, skin in (("left face", (224, 180, 150)), ("right face", (150, 105, 80))):
        # Drawn eight times as large, so that edges become soft.
        left, top = (8 * edge for edge in CROPS[name])
        for box, colour in (
            ((12, 4, 84, 92), skin),
            ((28, 30, 42, 42), (40, 30, 30)),
            ((54, 30, 68, 42), (40, 30, 30)),
            ((34, 64, 62, 74), (160, 60, 60)),
        ):
            draw.ellipse((left + box[0], top + box[1], left + box[2], top + box[3]), fill=colour)
    picture = picture.resize((44, 28), Image.Resampling.BOX)
    picture.save(folder / "picture.png")
    return picture


def cut_crops(picture: Image.Image) -> dict[str, Array]:
    """Pieces of the picture as the model takes them: raw bytes, red first."""
    return {
        name: np.asarray(picture.crop((left, top, left + SIZE, top + SIZE)))[np.newaxis]
        for name, (left, top) in CROPS.items()
    }


# ---- export and run --------------------------------------------------------------------------------------------------


def export_model(model: Path, target: str, folder: Path, *, build: bool) -> ExportFolder:
    """Exports, and compiles; what Aidge, CMake and the compiler say goes to ``<target>.log``."""
    _say(f"export for {target}")
    import aidge_core
    from aidge_core.export_utils.config import ExportConfig

    from aidge_export_gk7206.exporting import export_model as export
    from aidge_export_gk7206.npu.preprocessing import Preprocessing
    from aidge_export_gk7206.offloading import NpuOptions

    aidge_core.Log.set_console_level(aidge_core.Level.Error)
    config = ExportConfig(target=target, export_folder=str(folder / target), cuda=False, compile=build)
    log = folder / f"{target}.log"
    try:
        with _output_in(log):
            made = export(model, config, npu=NpuOptions(preprocessing=Preprocessing(raw=True)))
    except ExportError:
        raise
    except Exception as error:  # Aidge raises whatever it likes
        raise ExportError(f"the export for {target} failed ({type(error).__name__})", f"see {log}") from error
    return ExportFolder.load(made.folder)


def run_export(export: ExportFolder, crops: dict[str, Array]) -> dict[str, Answer]:
    """Runs the compiled program on every piece."""
    runner = get_runner("auto", export)
    _say(f"run on {runner.name}")
    return {name: Answer.of(runner.run(export, [crop]).outputs) for name, crop in crops.items()}


@contextmanager
def _output_in(log: Path) -> Iterator[None]:
    """Sends the standard output, also that of programs that are started, to a file; works in its folder meanwhile."""
    before, stdout = Path.cwd(), os.dup(1)
    sys.stdout.flush()
    os.chdir(log.parent)
    try:
        with log.open("w", buffering=1, encoding="utf-8") as file, redirect_stdout(file):
            os.dup2(file.fileno(), 1)
            yield
    finally:
        os.dup2(stdout, 1)
        os.close(stdout)
        os.chdir(before)


def _say(text: str) -> None:
    print(f"    {text} ...", file=sys.stderr, flush=True)


# ---- what is printed -------------------------------------------------------------------------------------------------


def report(model: Path, file: XmmFile, answers: dict[str, dict[str, Answer]], folder: Path) -> None:
    """Prints the answers, where they come from, what the board must have, and how to build for it."""
    from aidge_export_gk7206.offloading import golden_vectors

    print()
    targets = list(answers)
    print_table(
        ("crop", "at", *(f"face, {target}" for target in targets), "box"),
        [
            (
                name,
                f"{left},{top}",
                *(f"{answers[target][name].face:.3f}" for target in targets),
                " ".join(f"{value:+.3f}" for value in answers["host"][name].box),
            )
            for name, (left, top) in CROPS.items()
        ],
        right=[f"face, {target}" for target in targets],
    )
    source = "a pattern made of the input"
    if golden_vectors(model) is not None:
        source = f"the golden vectors beside the model for the input that they belong to, {source} for others"
    mmz = file.mmz()
    print(f"\nThese numbers are no detections: the simulator does not execute {model}, it gives {source}.")
    print(f"\nMMZ, memory that the NPU works in: {sum(mmz.values()):,} bytes")
    print_table(("part", "bytes"), [(part, f"{size:,}") for part, size in mmz.items()], right=("bytes",))
    if "gk7206" not in answers:
        print("\nThe board's program was neither compiled nor run (--skip-qemu).")
    print("\nFor the board, with the vendor's SDK and its compiler (on the PATH, or in GK7206_TOOLCHAIN):")
    print(f"    cd {folder / 'gk7206'} && GK7206_SDK=<root of the SDK> cmake --preset gk7206-sdk")
    print("    cmake --build --preset gk7206-sdk")
    print("and copy build/gk7206-sdk/run_export and the .xmm file beside it to the board.")


if __name__ == "__main__":
    sys.exit(main())
