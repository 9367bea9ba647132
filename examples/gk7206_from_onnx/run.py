#!/usr/bin/env python3
# SPDX-License-Identifier: EPL-2.0
"""An ONNX model on the NPU of the GK7206, before the vendor's compiler is at hand.

A small classifier of 32x32 pictures is made, with random weights that are always the same. It is exported with a file
in place of the compiler's, for this machine and for the board, where the simulator computes what the NPU would, and
validated against ONNX Runtime: every output within one step of the quantisation. Then a bundle is written: what the
vendor's compiler needs of the model. With the file that it makes, the same export needs ``--xmm`` instead of ``--npu``.

Needs onnxruntime and Pillow, a compiler for this machine, and for the board's program g++-arm-linux-gnueabihf and
qemu-user.
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
import onnx
from onnx import TensorProto, helper, numpy_helper
from PIL import Image, ImageDraw

from aidge_export_gk7206.errors import ExportError
from aidge_export_gk7206.export_folder import ExportFolder
from aidge_export_gk7206.npu.preprocessing import Preprocessing
from aidge_export_gk7206.npu.xmm import read
from aidge_export_gk7206.reference import OnnxRuntime
from aidge_export_gk7206.runners import get_runner
from aidge_export_gk7206.samples import Sample, read_samples, sample_files
from aidge_export_gk7206.tables import print_table
from aidge_export_gk7206.validation import validate

Array = npt.NDArray[Any]

DEFAULT_FOLDER = Path(__file__).resolve().parents[2] / "build" / "gk7206_from_onnx"
SHAPE = (1, 3, 32, 32)
CLASSES = 10
PREPROCESSING = Preprocessing(mean=(123.7, 116.3, 103.5), std=(58.4, 57.1, 57.4))


@dataclass(frozen=True)
class Answer:
    """What came of one picture.

    :ivar wanted: Scores by ONNX Runtime.
    :ivar got: Scores by the program, by target.
    :ivar step: One step of the output's quantisation.
    """

    name: str
    wanted: Array
    got: dict[str, Array]
    step: float

    def steps(self, target: str) -> float:
        """The largest difference, in steps of the quantisation."""
        return float(np.max(np.abs(self.got[target] - self.wanted))) / self.step

    @property
    def right(self) -> bool:
        return all(self.steps(target) <= 1.0 for target in self.got)


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the example.

    :param arguments: Command line, by default that of the process.
    :return: Exit code: 0 when every program is right.
    """
    options = _options(arguments)
    folder: Path = options.output.resolve()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        model = folder / "classifier.onnx"
        onnx.save(make_model(), model)
        files = sample_files(draw_pictures(folder / "pictures"))
        samples = read_samples(files, SHAPE, PREPROCESSING)
        exports: dict[str, ExportFolder] = {}
        for target in ("host", "gk7206"):
            build = target == "host" or not options.skip_qemu
            export = export_model(model, target, files, folder, build=build)
            if build:
                exports[target] = export
        passed = all(check_export(export) for export in exports.values())
        answers = compare(model, exports, samples)
        bundle = make_bundle(model, files, folder / "bundle")
    except ExportError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    report(answers, bundle, folder)
    wrong = [answer.name for answer in answers if not answer.right]
    if wrong or not passed:
        print(f"error: more than one step from ONNX Runtime: {', '.join(wrong) or 'the sample'}", file=sys.stderr)
        return 1
    return 0


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="A classifier from ONNX to the NPU's simulator, and to a bundle.")
    parser.add_argument(
        "-o", "--output", metavar="DIR", type=Path, default=DEFAULT_FOLDER, help="where to write (default: build/...)"
    )
    parser.add_argument("--skip-qemu", action="store_true", help="do not compile and emulate the board's program")
    return parser.parse_args(arguments)


# ---- model and pictures ----------------------------------------------------------------------------------------------


def make_model() -> onnx.ModelProto:
    """Three convolutions and a classifier, whose weights are random and always the same."""
    random = np.random.default_rng(7206)
    weights: list[onnx.TensorProto] = []
    nodes: list[onnx.NodeProto] = []

    def layer(operator: str, source: str, *dims: int, **attributes: Any) -> str:
        result = f"{operator.lower()}_{len(nodes)}"
        names = [source]
        if dims:
            scale = np.sqrt(2.0 / np.prod(dims[1:]))
            for kind, shape in (("weights", dims), ("bias", dims[:1])):
                values = (random.standard_normal(shape) * scale).astype(np.float32)
                weights.append(numpy_helper.from_array(values, f"{result}_{kind}"))
                names.append(f"{result}_{kind}")
        nodes.append(helper.make_node(operator, names, [result], name=result, **attributes))
        return result

    x, channels = "image", 3
    for count in (8, 16, 32):
        x = layer("Relu", layer("Conv", x, count, channels, 3, 3, kernel_shape=[3, 3], pads=[1] * 4))
        x, channels = layer("MaxPool", x, kernel_shape=[2, 2], strides=[2, 2]), count
    x = layer("Flatten", layer("GlobalAveragePool", x), axis=1)
    x = layer("Gemm", x, CLASSES, channels, transB=1)
    graph = helper.make_graph(
        nodes,
        "classifier",
        [helper.make_tensor_value_info("image", TensorProto.FLOAT, SHAPE)],
        [helper.make_tensor_value_info(x, TensorProto.FLOAT, (1, CLASSES))],
        weights,
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)])
    model.ir_version = 8
    onnx.checker.check_model(model)
    return model


def draw_pictures(folder: Path) -> Path:
    """Pictures to calibrate with and to classify: shapes on backgrounds; their folder."""
    folder.mkdir(exist_ok=True)
    random = np.random.default_rng(1)
    for shape in ("ellipse", "rectangle", "line"):
        for number in range(2):
            back, front = (tuple(random.integers(0, 256, 3).tolist()) for _ in range(2))
            picture = Image.new("RGB", (64, 64), back)
            left, top = random.integers(4, 24, 2).tolist()
            box = (left, top, left + 32, top + 24)
            draw = ImageDraw.Draw(picture)
            getattr(draw, shape)(box, fill=front, width=6)
            picture.save(folder / f"{shape}_{number}.png")
    return folder


# ---- export, run, compare --------------------------------------------------------------------------------------------


def export_model(model: Path, target: str, files: Sequence[Path], folder: Path, *, build: bool) -> ExportFolder:
    """Exports, and compiles; what Aidge, CMake and the compiler say goes to ``<target>.log``."""
    _say(f"export for {target}")
    import aidge_core
    from aidge_core.export_utils.config import ExportConfig

    from aidge_export_gk7206.exporting import export_model as export
    from aidge_export_gk7206.offloading import NpuOptions

    aidge_core.Log.set_console_level(aidge_core.Level.Error)
    config = ExportConfig(target=target, export_folder=str(folder / target), cuda=False, compile=build)
    log = folder / f"{target}.log"
    try:
        with _output_in(log):
            made = export(model, config, npu=NpuOptions(preprocessing=PREPROCESSING, samples=files))
    except ExportError:
        raise
    except Exception as error:  # Aidge raises whatever it likes
        raise ExportError(f"the export for {target} failed ({type(error).__name__})", f"see {log}") from error
    return ExportFolder.load(made.folder)


def check_export(export: ExportFolder) -> bool:
    """Whether an export passes ``validate``, on the sample that is stored in it."""
    runner = get_runner("auto", export)
    _say(f"validate for {export.target} on {runner.name}")
    return validate(export, runner).passed


def compare(model: Path, exports: dict[str, ExportFolder], samples: Sequence[Sample]) -> list[Answer]:
    """Runs the programs and ONNX Runtime on every picture."""
    runtime = OnnxRuntime(model)
    (name,) = (tensor.name for tensor in exports["host"].inputs)
    (output,) = read(exports["host"].path / "classifier.xmm").outputs
    answers = []
    for sample in samples:
        (wanted,) = runtime.run({name: sample.value}).outputs
        got = {
            target: get_runner("auto", export).run(export, [sample.value]).outputs[0]
            for target, export in exports.items()
        }
        answers.append(Answer(sample.name, wanted, got, output.scale))
    return answers


def make_bundle(model: Path, files: Sequence[Path], folder: Path) -> dict[str, Any]:
    """Writes what the vendor's compiler needs."""
    from aidge_export_gk7206.bundling import bundle_model

    _say("bundle")
    return bundle_model(model, folder, files, preprocessing=PREPROCESSING)


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


def report(answers: Sequence[Answer], bundle: dict[str, Any], folder: Path) -> None:
    """Prints the answers, how far they are from ONNX Runtime's, and what is in the bundle."""
    targets = list(answers[0].got)
    head = ["picture", "class, ONNX Runtime"]
    head += [f"{what}, {target}" for target in targets for what in ("class", "steps off")]
    rows = []
    for answer in answers:
        row = [answer.name, str(int(np.argmax(answer.wanted)))]
        for target in targets:
            row += [str(int(np.argmax(answer.got[target]))), f"{answer.steps(target):.2f}"]
        rows.append([*row, "yes" if answer.right else "NO"])
    print()
    print_table([*head, "right"], rows, right=head[1:])
    print(f"\none step of the output's quantisation is {answers[0].step:.6g}")
    if "gk7206" not in targets:
        print("the board's program was neither compiled nor run (--skip-qemu)")
    samples, files = len(bundle["samples"]), len(bundle["files"]) + 1
    print(
        f"bundle for the vendor's compiler: {files} files of {samples} samples in {folder / 'bundle'}; see README.txt"
    )


if __name__ == "__main__":
    sys.exit(main())
