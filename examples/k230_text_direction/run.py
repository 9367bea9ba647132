#!/usr/bin/env python3
# SPDX-License-Identifier: EPL-2.0
"""Is a line of text upright or upside down? A real classifier, exported for the K230 and run under QEMU.

The model is PP-OCR's text direction classifier, as the Python package rapidocr-onnxruntime ships it. Two pictures of
text are drawn, the same line once upright and once turned by 180 degrees. The exported program must answer as ONNX
Runtime does, 0 and 180, with the same probabilities.

Needs ``pip install aidge_export_gk7206[demo]``; scripts/demo.sh sets everything up.
"""

from __future__ import annotations

import argparse
import math
import os
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageDraw, ImageFont

from aidge_export_gk7206.errors import ExportError
from aidge_export_gk7206.export_folder import ExportFolder
from aidge_export_gk7206.runners import RunOptions, RunResult, get_runner
from aidge_export_gk7206.tables import print_table
from aidge_export_gk7206.validation import Comparison, compare

Array = npt.NDArray[Any]

TEXT = "Which way is up?"
ANGLES = (0, 180)  # what the classifier's two outputs stand for
CHANNELS, HEIGHT, WIDTH = 3, 48, 192
DEFAULT_FOLDER = Path(__file__).resolve().parents[2] / "build" / "demo"


@dataclass(frozen=True)
class Answer:
    """What came of one picture.

    :ivar picture: File of the picture.
    :ivar expected: Angle by which its text is turned.
    :ivar wanted: Probabilities by ONNX Runtime.
    :ivar got: Probabilities by the exported program.
    """

    picture: Path
    expected: int
    wanted: Array
    got: Array

    @property
    def comparison(self) -> Comparison:
        return compare(self.picture.stem, self.got, self.wanted)

    @property
    def right(self) -> bool:
        """Whether both answer the angle, with probabilities that agree."""
        return angle(self.wanted) == angle(self.got) == self.expected and self.comparison.passed


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the demonstration.

    :param arguments: Command line, by default that of the process.
    :return: Exit code: 0 when every answer is right.
    """
    options = _options(arguments)
    folder: Path = options.output.resolve()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        model = find_model()
        pictures = draw_pictures(folder)
        inputs = [preprocess(Image.open(picture)) for picture in pictures]
        wanted = run_onnxruntime(model, inputs)
        export, steps = export_model(model, options.target, inputs[0], folder)
        results = run_export(export, options, inputs)
    except ExportError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    answers = [
        Answer(picture, expected, reference, result.outputs[0])
        for picture, expected, reference, result in zip(pictures, ANGLES, wanted, results, strict=True)
    ]
    report(export, answers, results, steps)
    return verdict(answers)


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Text direction classifier, exported for the K230 and run under QEMU.")
    parser.add_argument(
        "--output", metavar="DIR", type=Path, default=DEFAULT_FOLDER, help="where to write (default: build/demo)"
    )
    parser.add_argument("--target", choices=("k230", "host"), default="k230", help="what to export for (default: k230)")
    parser.add_argument(
        "--vlen", metavar="BITS", type=int, default=128, help="vector register under QEMU (default: 128, as the K230's)"
    )
    return parser.parse_args(arguments)


# ---- model and pictures ----------------------------------------------------------------------------------------------


def find_model() -> Path:
    """The classifier in the package that ships it, which is not imported: it would need a desktop's libraries."""
    spec = find_spec("rapidocr_onnxruntime")
    if spec is None or not spec.submodule_search_locations:
        raise ExportError("rapidocr-onnxruntime, which holds the model, is not installed", "pip install it")
    model = Path(spec.submodule_search_locations[0], "models", "ch_ppocr_mobile_v2.0_cls_infer.onnx")
    if not model.is_file():
        raise ExportError(f"{model} is missing", "pip install rapidocr-onnxruntime==1.4.4")
    return model


def draw_pictures(folder: Path) -> list[Path]:
    """Draws the line of text, upright and upside down.

    :param folder: Where to save the pictures.
    :return: Their files, in the order of ANGLES.
    """
    font = ImageFont.load_default(size=40)
    left, top, right, bottom = (math.ceil(edge) for edge in font.getbbox(TEXT))
    margin = 12
    upright = Image.new("RGB", (right - left + 2 * margin, bottom - top + 2 * margin), "white")
    ImageDraw.Draw(upright).text((margin - left, margin - top), TEXT, font=font, fill="black")
    pictures = {"upright.png": upright, "upside_down.png": upright.transpose(Image.Transpose.ROTATE_180)}
    for name, picture in pictures.items():
        picture.save(folder / name)
    return [folder / name for name in pictures]


def preprocess(picture: Image.Image) -> Array:
    """Makes the classifier's input as rapidocr does: blue first, height 48, values from -1 to 1, zeros at the right.

    :param picture: Any picture of a line of text.
    :return: Array of shape [1, 3, 48, 192].
    """
    width = min(math.ceil(HEIGHT * picture.width / picture.height), WIDTH)
    # Not resize(), which averages where it shrinks: rapidocr takes two by two pixels, wherever they are.
    box = (0, 0, picture.width, picture.height)
    resized = picture.convert("RGB").transform((width, HEIGHT), Image.Transform.EXTENT, box, Image.Resampling.BILINEAR)
    values = (np.asarray(resized, np.float32) / 255 - 0.5) / 0.5
    result = np.zeros((1, CHANNELS, HEIGHT, WIDTH), np.float32)
    result[0, :, :, :width] = values[:, :, ::-1].transpose(2, 0, 1)
    return result


def angle(probabilities: Array) -> int:
    """The angle that the classifier's output stands for."""
    return ANGLES[int(np.argmax(probabilities))]


# ---- export and run --------------------------------------------------------------------------------------------------


def run_onnxruntime(model: Path, inputs: Sequence[Array]) -> list[Array]:
    """The answers that the export must give."""
    import onnxruntime

    session = onnxruntime.InferenceSession(str(model), providers=["CPUExecutionProvider"])
    name = session.get_inputs()[0].name
    return [np.asarray(session.run(None, {name: array})[0]) for array in inputs]


def export_model(model: Path, target: str, sample: Array, folder: Path) -> tuple[ExportFolder, dict[str, float]]:
    """Exports and compiles; what Aidge, CMake and the compiler say goes to export.log.

    :return: The export, and milliseconds by step.
    """
    _say("loading Aidge")
    import aidge_core
    from aidge_core.export_utils.config import ExportConfig

    from aidge_export_gk7206 import exporting

    aidge_core.Log.set_console_level(aidge_core.Level.Error)
    config = ExportConfig(target=target, xnn=True, export_folder=str(folder / "export"), cuda=False)
    log = folder / "export.log"
    with _output_in(log):
        try:
            made = exporting.export_model(model, config, sample=sample, progress=_say)
        except ExportError:
            raise
        except Exception as error:  # Aidge raises whatever it likes
            raise ExportError(f"the export failed ({_cause(error, log)})", f"see {log}") from error
    return ExportFolder.load(made.folder), made.steps


def run_export(export: ExportFolder, options: argparse.Namespace, inputs: Sequence[Array]) -> list[RunResult]:
    """Runs the compiled program on every input."""
    runner = get_runner("auto", export, options.vlen)
    _say(f"run on {runner.name}")
    return [runner.run(export, [array], RunOptions(warmup=1, iterations=3)) for array in inputs]


@contextmanager
def _output_in(log: Path) -> Iterator[None]:
    """Sends the standard output, also that of C++ and of programs that are started, to a file.

    Works in the file's folder meanwhile, where Aidge leaves files of its own.
    """
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


def _cause(error: Exception, log: Path) -> str:
    """What a compiler complained about first, or what Aidge says."""
    lines = [*log.read_text(encoding="utf-8", errors="replace").splitlines(), *str(error).splitlines()]
    return next((line for line in lines if "error: " in line), str(error).strip() or type(error).__name__)


# ---- what is printed -------------------------------------------------------------------------------------------------


def report(
    export: ExportFolder, answers: Sequence[Answer], results: Sequence[RunResult], steps: dict[str, float]
) -> None:
    """Prints the answers and what they cost."""
    print()
    print_table(
        ("picture", "turned by", "ONNX Runtime", "export", "probability", "largest difference", "right"),
        [
            (
                answer.picture.name,
                str(answer.expected),
                str(angle(answer.wanted)),
                str(angle(answer.got)),
                f"{answer.got.max():.6f}",
                "not finite" if (difference := answer.comparison.max_abs_diff) is None else f"{difference:.1e}",
                "yes" if answer.right else "NO",
            )
            for answer in answers
        ],
        right=("turned by", "ONNX Runtime", "export", "probability", "largest difference"),
    )
    libraries = Counter(node.library for node in export.nodes)
    emulated = export.arch is not None
    rows = [
        ("target", export.target + (", under QEMU" if emulated else "")),
        ("XNNPACK", results[0].xnnpack or "none"),
        ("operators", ", ".join(f"{count} by {library}" for library, count in sorted(libraries.items()))),
        ("program", f"{export.binary().stat().st_size:,} bytes, of which weights {export.weights_bytes:,}"),
        ("arena", f"{export.arena_bytes:,} bytes"),
        *((f"{step} (ms)", f"{milliseconds:,.0f}") for step, milliseconds in steps.items()),
        ("start (ms)", f"{results[0].init_ms:,.1f}" + (", emulated" if emulated else "")),
        ("inference (ms)", f"{results[0].times_ms['median']:,.1f}" + (", emulated" if emulated else "")),
    ]
    print()
    print_table(("what", "how much"), rows)
    print(f"\npictures, export and export.log are in {answers[0].picture.parent}")


def verdict(answers: Sequence[Answer]) -> int:
    """Exit code of the demonstration: 0 when every answer is right, else 1 and one line that says which is not."""
    wrong = [answer.picture.name for answer in answers if not answer.right]
    if wrong:
        print(f"error: wrong answer or too large a difference for {', '.join(wrong)}", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
