# SPDX-License-Identifier: EPL-2.0
"""onnx's own tests of single operators, with the outputs that onnx gives."""

from __future__ import annotations

from typing import Any

import pytest
from support.bundle import Bundle
from support.cases import Branch
from support.onnx_tests import accepted, cases_by_operator, refused
from support.projects import RUNNERS

from aidge_export_gk7206.errors import ExportError
from aidge_export_gk7206.preparation import load, lower
from aidge_export_gk7206.preparation.lowering import _RULES

OPERATORS = [
    "Abs",
    "Add",
    "AveragePool",
    "BatchNormalization",
    "Ceil",
    "Clip",
    "Concat",
    "Conv",
    "ConvTranspose",
    "Div",
    "Dropout",
    "Elu",
    "Erf",
    "Exp",
    "Expand",
    "Floor",
    "Gather",
    "Gelu",
    "Gemm",
    "GlobalAveragePool",
    "GlobalMaxPool",
    "HardSigmoid",
    "HardSwish",
    "InstanceNormalization",
    "LayerNormalization",
    "LeakyRelu",
    "Log",
    "LogSoftmax",
    "MatMul",
    "Max",
    "MaxPool",
    "Min",
    "Mul",
    "Neg",
    "PRelu",
    "Pad",
    "Pow",
    "Reciprocal",
    "ReduceMax",
    "ReduceMean",
    "ReduceMin",
    "ReduceSum",
    "Relu",
    "Reshape",
    "Resize",
    "Round",
    "Sigmoid",
    "Slice",
    "Softmax",
    "Softplus",
    "Split",
    "Sqrt",
    "Squeeze",
    "Sub",
    "Sum",
    "Swish",
    "Tanh",
    "Transpose",
    "Upsample",
]  # the tests themselves take seconds to collect


@pytest.mark.slow
@pytest.mark.parametrize("runner", list(RUNNERS))
@pytest.mark.parametrize("onnx_operator", OPERATORS)
def test_stored_outputs(onnx_operator: str, runner: str, bundles: Any) -> None:
    wrong = []
    for case in accepted(onnx_operator):
        try:
            bundles.check(Branch(__name__, case, "plain"), runner)
        except AssertionError as error:
            wrong.append(f"{case.name}: {str(error).splitlines()[0]}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.slow
def test_all_operators_are_listed() -> None:
    usable = {name for name in cases_by_operator() if name in _RULES and accepted(name)}
    assert usable == set(OPERATORS)
    assert sum(len(accepted(name)) for name in OPERATORS) > 300


@pytest.mark.slow
def test_others_are_refused() -> None:
    for case in refused():
        with pytest.raises(ExportError):
            lower(load(Bundle(case.opset, [Branch(__name__, case, "plain")]).build()), "test", {})
