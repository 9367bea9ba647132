# SPDX-License-Identifier: EPL-2.0
"""A hand-made export folder, complete and compiled, for tests of everything that runs one: no Aidge, no XNNPACK."""

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import jinja2
import numpy as np
import numpy.typing as npt

ROOT = Path(__file__).resolve().parents[2]
SYSROOT = Path("/usr/riscv64-linux-gnu")
STRICT = ["-std=c++17", "-Wall", "-Wextra", "-Werror", "-Wpedantic", "-Wconversion", "-Wsign-conversion"]
SANITIZE = ["-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]

IMAGE_SHAPE = (1, 2, 2, 3)
NHWC = (0, 2, 3, 1)
INPUTS: list[dict[str, Any]] = [
    {
        "name": "image",
        "symbol": "image_input_0",
        "dtype": "float32",
        "ctype": "float",
        "shape": [1, 2, 2, 3],
        "layout": "nhwc",
        "device_shape": [1, 2, 3, 2],
        "permutation": [0, 2, 3, 1],
    },
    {
        "name": "scale",
        "symbol": "scale_input_0",
        "dtype": "float32",
        "ctype": "float",
        "shape": [1, 2],
        "layout": "default",
        "device_shape": [1, 2],
        "permutation": None,
    },
]
OUTPUTS: list[dict[str, Any]] = [
    {**INPUTS[0], "name": 'scaled:0 "é"', "symbol": "scale_1_output_0"},
    {**INPUTS[1], "name": "ramp", "symbol": "ramp_output_0", "shape": [1, 120], "device_shape": [1, 120]},
]
NODES = [
    {"name": "scale_1", "type": "Mul", "library": "export_xnnpack", "reason": ""},
    {"name": 'ramp "1"', "type": "Range+Add", "library": "export_cpp", "reason": "XNNPACK has no Range"},
]


def sample_inputs() -> list[npt.NDArray[np.float32]]:
    """The sample that is compiled in, in ONNX layout."""
    image = np.arange(12, dtype=np.float32).reshape(IMAGE_SHAPE) - 4.25
    return [image, np.array([[2.0, -0.5]], np.float32)]


def expected(image: npt.NDArray[np.float32], scale: npt.NDArray[np.float32]) -> list[npt.NDArray[np.float32]]:
    """What the model computes, in ONNX layout."""
    return [image * scale.reshape(1, 2, 1, 1), (np.arange(120, dtype=np.float32) + np.float32(0.5)).reshape(1, 120)]


def write_sources(folder: Path) -> Path:
    """Lays out the project: main.cpp from the template, the runtime and the toy's forward function.

    :param folder: Where; made when missing.
    :return: The folder.
    """
    (folder / "data").mkdir(parents=True, exist_ok=True)
    (folder / "dnn" / "src").mkdir(parents=True, exist_ok=True)
    shutil.copytree(ROOT / "runtime" / "common", folder / "dnn" / "include" / "common", dirs_exist_ok=True)
    shutil.copy(ROOT / "tests" / "runtime" / "toy_forward.hpp", folder / "dnn" / "include")
    shutil.copy(ROOT / "tests" / "runtime" / "toy_forward.cpp", folder / "dnn" / "src")
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(ROOT / "templates" / "project"),
        undefined=jinja2.StrictUndefined,
        keep_trailing_newline=True,
    )
    main = environment.get_template("main.jinja").render(
        model="toy",
        target="host",
        arena_bytes=528,
        model_file="",
        inputs=INPUTS,
        outputs=OUTPUTS,
        c_string=_c_string,
        c_list=lambda values: "{" + ", ".join(map(str, values)) + "}",
    )
    (folder / "main.cpp").write_text(main, encoding="utf-8")
    samples = sample_inputs()
    lines = ['.section .rodata, "a", %progbits']
    for tensor, array in zip(INPUTS, samples, strict=True):
        device = array.transpose(tensor["permutation"]) if tensor["permutation"] else array
        (folder / "data" / f"{tensor['symbol']}.bin").write_bytes(np.ascontiguousarray(device).tobytes())
        lines += [".balign 64", f".global {tensor['symbol']}", f"{tensor['symbol']}:"]
        lines += [f'.incbin "{tensor["symbol"]}.bin"']
    lines += ['.section .note.GNU-stack, "", %progbits', ""]
    (folder / "data" / "samples.S").write_text("\n".join(lines), encoding="utf-8")
    return folder


def compile_project(folder: Path, flags: list[str], compiler: str = "g++") -> Path:
    """Compiles the project with warnings as errors.

    :param folder: What :func:`write_sources` made.
    :param flags: Further flags.
    :param compiler: C++ compiler.
    :return: The program.
    """
    binary = folder / "build" / "run_export"
    binary.parent.mkdir(exist_ok=True)
    sources = ["main.cpp", "dnn/src/toy_forward.cpp", "data/samples.S"]
    sources += sorted(str(file.relative_to(folder)) for file in (folder / "dnn/include/common").glob("*.cpp"))
    command = [compiler, *STRICT, *flags, "-Idnn/include", "-Wa,-Idata", *sources, "-o", str(binary)]
    subprocess.run(command, cwd=folder, check=True)
    return binary


def write_description(folder: Path, **changes: Any) -> None:
    """Writes export.json and reference/.

    :param folder: The export.
    :param changes: Entries of export.json that differ.
    """
    reference = folder / "reference"
    reference.mkdir(exist_ok=True)
    inputs = sample_inputs()
    for kind, arrays in (("input", inputs), ("output", expected(*inputs))):
        for i, array in enumerate(arrays):
            np.save(reference / f"{kind}_{i}.npy", array)
    keys = ("name", "dtype", "shape", "layout", "device_shape", "permutation")
    description = {
        "format": 1,
        "model": "toy",
        "target": "host",
        "arch": None,
        "xnn": True,
        "inputs": [{key: tensor[key] for key in keys} for tensor in INPUTS],
        "outputs": [{key: tensor[key] for key in keys} for tensor in OUTPUTS],
        "nodes": NODES,
        "arena_bytes": 528,
        "weights_bytes": 0,
        "macs": 12,
        "reference": {
            "source": "onnxruntime 1.32.0",
            "inputs": ["reference/input_0.npy", "reference/input_1.npy"],
            "outputs": ["reference/output_0.npy", "reference/output_1.npy"],
        },
        **changes,
    }
    (folder / "export.json").write_text(json.dumps(description), encoding="utf-8")


def make_export(folder: Path) -> Path:
    """A complete export for this machine.

    :param folder: Where; made when missing.
    :return: The folder.
    """
    write_sources(folder)
    compile_project(folder, ["-O1"])
    write_description(folder)
    return folder


def _c_string(text: str) -> str:
    return (
        '"' + "".join(chr(b) if 32 <= b < 127 and chr(b) not in '"\\?' else f"\\{b:03o}" for b in text.encode()) + '"'
    )
