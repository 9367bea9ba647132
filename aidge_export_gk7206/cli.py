# SPDX-License-Identifier: EPL-2.0
"""The command ``aidge-gk7206``: its arguments, its exit codes and its error messages.

What the commands do is in :mod:`aidge_export_gk7206.commands`; both import what is heavy only where it is needed.
"""

from __future__ import annotations

import argparse
import os
import sys
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NoReturn

from aidge_export_gk7206 import commands
from aidge_export_gk7206.errors import ArgumentError, ExportError
from aidge_export_gk7206.runners import RUNNERS

PROGRAM = "aidge-gk7206"
EXIT_FAILED = 1
EXIT_USAGE = 2
EXIT_INTERRUPTED = 130

#: Options of Aidge's ExportConfig that the command sets itself, or that mean nothing for these targets.
_CONFIG_SKIPPED = (
    "execution_domain",
    "dformat",
    "export_folder",
    "aidge_cmp",
    "cmsis",
    "npu",
    "cuda",
    "use_docker",
    "clone_model",
    "dev_mode",
    "bsp_package_version",
    "mem_wrap",
    "multiple_mems",
    "auto_concat",
)

_SAMPLES = "samples: .npy in ONNX layout, .npy of uint8 HxWx3 pixels, or pictures"

#: Shorter than the lists of their choices.
_CONFIG_NAMES = {"build_jobs": "N", "static_analysis": "PROFILE", "target": "BOARD"}


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command line.

    :param arguments: Arguments without the program's name; by default those of the process.
    :type arguments: Sequence[str] | None
    :return: Exit code: 0 done, 1 failed, 2 wrong arguments, 130 interrupted.
    :rtype: int
    """
    arguments = sys.argv[1:] if arguments is None else list(arguments)
    try:
        options = _parser(arguments).parse_args(arguments)
        code: int = options.command(options)
        sys.stdout.flush()
        return code
    except KeyboardInterrupt:
        print(f"{PROGRAM}: interrupted", file=sys.stderr)
        return EXIT_INTERRUPTED
    except BrokenPipeError:
        # Whoever read the output has seen enough; Python must not complain again when it closes the stream.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT_FAILED
    except Exception as error:
        if "--debug" in arguments:
            traceback.print_exc()
        print(f"{PROGRAM}: error: {_one_line(error)}", file=sys.stderr)
        return EXIT_USAGE if isinstance(error, ArgumentError) else EXIT_FAILED


def _one_line(error: Exception) -> str:
    text = " ".join(str(error).split())
    if isinstance(error, ExportError):
        return text
    if isinstance(error, ModuleNotFoundError):
        return f"{text}: pip install it where this program is installed, {sys.prefix}"
    return f"{text or 'no message'} ({type(error).__name__}): --debug shows more"


class _Parser(argparse.ArgumentParser):
    """Says in one line what is wrong, and takes no abbreviated options."""

    def __init__(self, **settings: object) -> None:
        super().__init__(**settings, allow_abbrev=False)  # type: ignore[arg-type]

    def error(self, message: str) -> NoReturn:
        print(f"{PROGRAM}: error: {' '.join(message.split())}: see {self.prog} --help", file=sys.stderr)
        sys.exit(EXIT_USAGE)


def _parser(arguments: Sequence[str]) -> _Parser:
    parser = _Parser(
        prog=PROGRAM,
        description="Neural networks as standalone C++ programs, with Eclipse Aidge.",
        epilog=f"{PROGRAM} COMMAND --help explains a command.",
        parents=[_debug_option()],
    )
    subparsers = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)

    def add(name: str, command: Callable[[argparse.Namespace], int], text: str) -> _Parser:
        description = text[0].upper() + text[1:] + "."
        added = subparsers.add_parser(name, help=text, description=description, parents=[_debug_option()])
        added.set_defaults(command=command)
        return added

    doctor = add("doctor", commands.doctor, "say what is installed, what is missing and how to install it")
    doctor.add_argument("--json", action="store_true", help="print JSON")
    # Its options are Aidge's, and to ask for them takes a second.
    export = add("export", commands.export, "turn an ONNX model into a C++ project and compile it")
    _add_export_arguments(export, with_aidge="export" in arguments)
    bundle = add("bundle", commands.bundle, "write what the vendor's compiler for the NPU needs of an ONNX model")
    _add_bundle_arguments(bundle)
    run = add("run", commands.run, "run an export, on its sample or on given inputs")
    _add_run_arguments(run)
    validate = add("validate", commands.validate, "compare what an export computes with its stored reference")
    _add_runner_arguments(validate)
    inspect = add("inspect", commands.inspect, "say what a model compiled for the NPU holds and needs")
    inspect.add_argument("model", metavar="FILE.xmm", type=Path, help="the model")
    inspect.add_argument("--json", action="store_true", help="print JSON")
    xnnpack = subparsers.add_parser("xnnpack", help="build XNNPACK once for all exports, or list what is built")
    _add_xnnpack_commands(xnnpack)
    return parser


def _debug_option() -> _Parser:
    """An option that every command takes, before its name and after."""
    parent = _Parser(add_help=False)
    parent.add_argument(
        "--debug", action="store_true", default=argparse.SUPPRESS, help="show tracebacks and what goes on in detail"
    )
    return parent


def _add_export_arguments(parser: argparse.ArgumentParser, with_aidge: bool) -> None:
    parser.add_argument("model", metavar="MODEL", type=Path, help="the model: .onnx, or .xmm, compiled for the NPU")
    parser.add_argument(
        "-o",
        dest="folder",
        metavar="DIR",
        type=_folder,
        help="export folder (default: export_<model>_<dtype>_<target>)",
    )
    parser.add_argument("--input", metavar="FILE.npy", type=Path, help="sample input in ONNX layout (default: random)")
    _add_shape(parser)
    parser.add_argument("--json", action="store_true", help="print the report as JSON")
    parser.add_argument("--force", action="store_true", help="export what is larger than the board's memory, too")
    npu = parser.add_argument_group("NPU of the GK7206")
    npu.add_argument(
        "--npu",
        dest="on_npu",
        action="store_true",
        help="run the model on the NPU (without --xmm: simulated only)",
    )
    npu.add_argument("--xmm", metavar="FILE", type=Path, help="the model, or its first part, as compiled for the NPU")
    npu.add_argument(
        "--xmm-output",
        metavar="NAME[=I]",
        action="append",
        default=[],
        help="tensor where the NPU's part ends, and which output of the file it is (default: the model's outputs)",
    )
    _add_preprocessing(npu)
    npu.add_argument("--calibration", metavar="DIR", type=Path, help=f"{_SAMPLES} (default: --input)")
    npu.add_argument("--raw", action="store_true", help="the program takes uint8 pixels, unconverted")
    if with_aidge:
        from aidge_core.export_utils.config import ExportConfig

        parser.usage = "%(prog)s MODEL [-o DIR] [options]"
        for action in ExportConfig.add_to_parser(parser, skip=_CONFIG_SKIPPED)._actions:
            if action.dest in _CONFIG_NAMES:
                action.metavar = _CONFIG_NAMES[action.dest]
            if action.dest == "build_jobs":
                action.type = _count(1)  # Aidge would take the text and compare it with a number
            if action.dest == "target":
                action.help = "what to export for: k230, gk7206, ..., or host (default), this machine"


def _add_shape(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--shape",
        metavar="[NAME=]DIMS",
        action="append",
        default=[],
        help="shape of an input whose sizes the model leaves open, e.g. 1,3,48,192",
    )


def _add_bundle_arguments(parser: argparse.ArgumentParser) -> None:
    parser.usage = "%(prog)s MODEL.onnx --calibration DIR -o DIR [options]"
    parser.add_argument("model", metavar="MODEL.onnx", type=Path, help="the model")
    parser.add_argument("--calibration", metavar="DIR", type=Path, required=True, help=_SAMPLES)
    parser.add_argument("-o", dest="folder", metavar="DIR", type=Path, required=True, help="where to write")
    parser.add_argument("--input", metavar="FILE", type=Path, help="one more sample, the first")
    _add_shape(parser)
    parser.add_argument(
        "--xmm-output",
        metavar="NAME",
        action="append",
        default=[],
        help="tensor where the NPU's part ends (default: the model's outputs)",
    )
    _add_preprocessing(parser.add_argument_group("preprocessing, which the NPU's compiler takes over"))
    parser.add_argument("--json", action="store_true", help="print what bundle.json says")


def _add_preprocessing(parser: argparse._ArgumentGroup) -> None:
    parser.add_argument("--mean", metavar="M[,M,M]", type=_numbers, help="the model's input is (pixel - mean) / std")
    parser.add_argument("--std", metavar="S[,S,S]", type=_numbers, help="(default: 0 and 1, the pixels themselves)")
    parser.add_argument("--order", choices=("rgb", "bgr"), help="channel order of the model's input (default: rgb)")


def _add_runner_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folder", metavar="DIR", type=Path, help="export folder")
    parser.add_argument(
        "--on",
        choices=RUNNERS,
        default="auto",
        help="where to run (default: auto, this machine where it can, else QEMU)",
    )
    parser.add_argument(
        "--vlen", metavar="BITS", type=int, default=128, help="RISC-V vector register under QEMU (default: 128)"
    )
    parser.add_argument(
        "--timeout", metavar="S", type=_positive_float, default=1800.0, help="stop after S seconds (default: 1800)"
    )
    parser.add_argument("--json", action="store_true", help="print JSON")


def _add_run_arguments(parser: argparse.ArgumentParser) -> None:
    _add_runner_arguments(parser)
    parser.add_argument(
        "--input", metavar="FILE.npy", type=Path, nargs="+", help="inputs in ONNX layout (default: the stored sample)"
    )
    parser.add_argument("--output", metavar="FILE.npz", type=Path, help="write the outputs there, by their ONNX names")
    parser.add_argument("--iterations", metavar="N", type=_count(1), default=1, help="measured runs (default: 1)")
    parser.add_argument("--warmup", metavar="N", type=_count(0), default=0, help="runs before measuring (default: 0)")
    parser.add_argument("--profile", action="store_true", help="time every layer")


def _add_xnnpack_commands(parser: argparse.ArgumentParser) -> None:
    subparsers = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    build = subparsers.add_parser("build", help="build XNNPACK into the cache", parents=[_debug_option()])
    build.set_defaults(command=commands.xnnpack_build)
    build.add_argument("--arch", choices=("riscv64", "armv7", "native"), required=True, help="what for")
    build.add_argument(
        "--from",
        dest="source",
        metavar="SOURCE",
        default="github",
        help="github (default), debian or a checkout",
    )
    build.add_argument("--jobs", metavar="N", type=_count(1), help="compilers at a time (default: one per processor)")
    build.add_argument("--force", action="store_true", help="build again what is there")
    listing = subparsers.add_parser("list", help="list what is in the cache", parents=[_debug_option()])
    listing.set_defaults(command=commands.xnnpack_list)
    listing.add_argument("--json", action="store_true", help="print JSON")


def _folder(text: str) -> Path:
    if not text:
        raise argparse.ArgumentTypeError("the name of a folder is empty")
    return Path(text)


def _count(least: int) -> Callable[[str], int]:
    """Converts a command line argument to a whole number of at least ``least``."""

    def convert(text: str) -> int:
        if not text.isascii() or not text.isdigit() or not least <= int(text) <= 1_000_000:
            raise argparse.ArgumentTypeError(f"'{text}' is not a whole number from {least} to 1000000")
        return int(text)

    return convert


def _numbers(text: str) -> tuple[float, ...]:
    try:
        return tuple(float(part) for part in text.split(","))
    except ValueError:
        raise argparse.ArgumentTypeError(f"'{text}' is not a list of numbers: write it as 123.7,116.3,103.5") from None


def _positive_float(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0.0 < value < 1e7:
        raise argparse.ArgumentTypeError(f"'{text}' is not a positive number")
    return value


if __name__ == "__main__":
    sys.exit(main())
