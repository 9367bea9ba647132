# SPDX-License-Identifier: EPL-2.0
"""The tests of single operators that onnx ships, with the outputs stored there, as cases of ours.

The first input stays an input; the others become constants.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import numpy as np
import onnx
from onnx import numpy_helper

from support.cases import Array, Case
from support.graphs import Graph

#: Tests that are refused, with good reason: see tests/unit/test_preparation.py.
REFUSED = re.compile(
    r"(pool|convtranspose)_3d|Conv3d|training_mode|training_dropout(?!_zero_ratio)|gather_(0|1|negative)|antialias|tf_crop"
    r"|^tile|operator_repeat"
)
#: Tests that ONNX Runtime fails too: it truncates the size before it aligns the corners, its pow knows no unsigned
#: numbers. The stored outputs of the third have four digits only.
SKIPPED = re.compile(
    r"resize_downsample_scales_\w+_align_corners|pow_types_float32_uint|averagepool_2d_ceil_last_window_starts_on_pad"
)
#: Opsets of the operator tests, which these join where the operator has not changed in between.
OPSETS = (9, 11, 13, 17, 19, 22, 24)
_FOLDER = Path(onnx.__file__).parent / "backend" / "test" / "data"


@cache
def cases_by_operator() -> dict[str, list[Case]]:
    """All tests that have the form of ours: float32 in and out, operators that ONNX Runtime knows in that version."""
    found: dict[str, list[Case]] = {}
    for name, model, inputs, outputs in [*_node_tests(), *_stored_tests()]:
        opset = _common_opset(model)
        floats = all(isinstance(a, np.ndarray) and a.dtype == np.float32 for a in [*inputs[:1], *outputs])
        if SKIPPED.search(name):
            continue
        if opset is None or not inputs or not floats or not outputs or any(a.size == 0 for a in [inputs[0], *outputs]):
            continue
        if model.graph.node[-1].op_type == "LayerNormalization":
            # Mean and deviation, which these have as outputs too, are for training.
            del model.graph.node[-1].output[1:], model.graph.output[1:], outputs[1:]
        case = _case(name, model, inputs, outputs, opset)
        found.setdefault(model.graph.node[-1].op_type, []).append(case)
    return found


def accepted(operator: str) -> list[Case]:
    """The tests of an operator that can be exported."""
    return [case for case in cases_by_operator()[operator] if not REFUSED.search(case.name)]


def refused() -> list[Case]:
    """Those that cannot, of operators that are supported otherwise."""
    return [case for cases in cases_by_operator().values() for case in cases if REFUSED.search(case.name)]


def _node_tests() -> Iterator[tuple[str, onnx.ModelProto, list[Array], list[Array]]]:
    from onnx.backend.test.case.node import collect_testcases

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tests = collect_testcases(None)
    for test in tests:
        if test.model is not None and test.data_sets and not test.name.endswith(("_expanded", "_expanded_ver18")):
            inputs, outputs = test.data_sets[0]
            yield test.name.removeprefix("test_"), test.model, list(inputs), list(outputs)


def _stored_tests() -> Iterator[tuple[str, onnx.ModelProto, list[Array], list[Array]]]:
    for kind in ("pytorch-converted", "pytorch-operator"):
        for folder in sorted((_FOLDER / kind).iterdir()):
            arrays = [
                [numpy_helper.to_array(onnx.load_tensor(str(file))) for file in sorted(folder.glob(f"*_0/{side}_*.pb"))]
                for side in ("input", "output")
            ]
            yield folder.name.removeprefix("test_"), onnx.load(folder / "model.onnx"), arrays[0], arrays[1]


def _common_opset(model: onnx.ModelProto) -> int | None:
    """One of OPSETS in which all operators of a model are what they are in its own."""
    own = {entry.domain: entry.version for entry in model.opset_import}
    if set(own) - {"", "ai.onnx"} or model.functions:
        return None

    def version(op_type: str, opset: int) -> int | None:
        try:
            return int(onnx.defs.get_schema(op_type, opset, "").since_version)
        except onnx.defs.SchemaError:
            return None

    types = {node.op_type for node in model.graph.node}
    wanted = {op_type: version(op_type, own.get("", own.get("ai.onnx", 1))) for op_type in types}
    same = (opset for opset in OPSETS if all(version(op_type, opset) == wanted[op_type] for op_type in types))
    return next(same, None)


def _case(name: str, model: onnx.ModelProto, inputs: list[Array], outputs: list[Array], opset: int) -> Case:
    constants = {array.name for array in model.graph.initializer}
    names = [value.name for value in model.graph.input if value.name not in constants]

    def build(g: Graph, x: str) -> list[str]:
        renamed = {"": "", names[0]: x}
        for array in model.graph.initializer:
            values = numpy_helper.to_array(array)
            renamed[array.name] = g.constant(values, values.dtype)
        for other, values in zip(names[1:], inputs[1:], strict=True):
            renamed[other] = g.constant(values, values.dtype)
        for i, node in enumerate(model.graph.node):
            copy = onnx.NodeProto()
            copy.CopyFrom(node)
            copy.name = f"{g.prefix}{node.op_type}_{i}"
            renamed.update({output: f"{g.prefix}{output}" for output in node.output if output})
            copy.input[:] = [renamed[value] for value in node.input]
            copy.output[:] = [renamed.get(value, value) for value in node.output]
            g.nodes.append(copy)
        return [renamed[output.name] for output in model.graph.output]

    values = np.asarray(inputs[0])
    return Case(name, values.shape, build, opset, forms=("plain",), values=values, expected=outputs)
