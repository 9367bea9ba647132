# SPDX-License-Identifier: EPL-2.0
"""The README of a bundle: what each file is, and how to go on."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

#: As the vendor's compiler always calls what it writes.
COMPILED = "neuron_network.xmm"


@dataclass(frozen=True)
class Origin:
    """Where a region comes from, so that the bundle can say how to go on.

    :ivar model: Name of the model's file.
    :ivar outputs: Tensors where the region ends; empty when it is the whole model.
    """

    model: str
    outputs: Sequence[str] = ()


def export_command(description: dict[str, Any], outputs: Sequence[str]) -> str:
    """The command that exports the model once the vendor's compiler has made its file."""
    pre = description["preprocessing"]
    # A region that is not the whole model needs the whole model, and XNNPACK for what follows.
    words = ["aidge-gk7206", "export", description["model"] if outputs else "model.onnx", "--target", "gk7206"]
    words += ["--xnn"] if outputs else []
    words += ["--xmm", COMPILED]
    for name in outputs:
        words += ["--xmm-output", name]
    if pre is not None:
        for option in ("mean", "std"):
            # One word: a negative number would be taken for an option.
            words.append(f"--{option}={','.join(f'{value:.9g}' for value in pre[option])}")
        words += ["--order", pre["order"]]
    return shlex.join(words)


def readme(description: dict[str, Any], origin: Origin) -> str:
    """The text.

    :param description: What ``bundle.json`` says.
    :param origin: Where the region comes from.
    """
    entry, pre = description["input"], description["preprocessing"]
    lines = [
        "What the vendor's compiler for the GK7206's NPU needs of a model, and what its result is compared with.",
        f"Made of {origin.model}.",
        "",
        "model.onnx",
        f"    The part for the NPU: opset {description['opset']}, all sizes fixed, input '{entry['name']}'",
        f"    {_dims(entry['shape'])} float32 ({entry['layout']}).",
        "calibration/<sample>.npy",
        "    What model.onnx takes, float32: representative inputs, for the ranges inside the model.",
    ]
    if pre is not None:
        lines += [
            "calibration/<sample>.bin",
            f"    The same as pixels, before preprocessing: uint8, {_dims(entry['file_shape'])}, no header.",
        ]
    lines += [
        "golden/<sample>/input_data0.bin",
        f"    What the compiled file takes: {_stored(entry)}, no header.",
        "golden/<sample>/output_<i>.npy",
        f"    What model.onnx gives for that input, float32, by {description['reference']}.",
        "golden/<sample>/output_data<i>.bin",
        "    The same as the NPU would store it: uint8, with the scale and zero point that bundle.json suggests.",
        "bundle.json",
        "    Names, sizes, layouts, preprocessing, ranges seen in calibration, checksums of all files.",
        "",
        "Outputs:",
    ]
    for index, output in enumerate(description["outputs"]):
        seen = f"from {output['min']:.6g} to {output['max']:.6g}"
        lines.append(f"    {index}  '{output['name']}'  {_dims(output['shape'])}  {seen}")
    lines += [
        "",
        "How to go on:",
        "",
        "1. Compile model.onnx with the vendor's compiler, calibrated with calibration/.",
    ]
    if pre is not None:
        lines += [
            "   Let it fold the preprocessing into its file, which then takes pixels, red first:",
            f"   input = (pixel - mean) / std, mean {_numbers(pre['mean'])}, std {_numbers(pre['std'])}, "
            f"channels of the input {pre['order']}.",
        ]
    lines += [
        f"   Its result is called {COMPILED}.",
        "2. See what is in it:",
        "",
        f"       aidge-gk7206 inspect {COMPILED}",
        "",
        "   Compare with the input and the outputs of bundle.json. An output with another scale or zero point stores",
        "   other bytes than output_data<i>.bin; its real values, (stored - zero point) * scale, are to be close to",
        "   output_<i>.npy all the same.",
        "3. Make the program:",
        "",
        f"       {export_command(description, origin.outputs)}",
        "",
        f"   input_data0.bin and output_data<i>.bin of one sample, copied beside {COMPILED}, are what the simulator",
        "   answers with where the file is exported without its ONNX model and quantises as bundle.json says.",
        "",
    ]
    return "\n".join(lines)


def _stored(entry: dict[str, Any]) -> str:
    dims = _dims(entry["file_shape"])
    if entry["holds"] == "pixels":
        return f"pixels, uint8, {dims}"
    return f"uint8, {dims}, each (value / {entry['scale']:.9g}) + {entry['zero_point']}"


def _dims(dims: Sequence[int]) -> str:
    return "x".join(map(str, dims)) or "scalar"


def _numbers(values: Sequence[float]) -> str:
    return ", ".join(f"{value:g}" for value in values)
