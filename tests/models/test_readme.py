# SPDX-License-Identifier: EPL-2.0
"""README's examples, as they stand there: the Python one exports, the C++ one uses what was exported."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import helper, numpy_helper
from support.missing import need_build_tools, need_program

README = Path(__file__).resolve().parents[2] / "README.md"

PROJECT = """
cmake_minimum_required(VERSION 3.22)
project(app CXX C ASM)
set(CMAKE_CXX_STANDARD 17)
add_subdirectory(out)
add_executable(app app.cpp)
target_link_libraries(app aidge_model)
"""

PROGRAM = """
#include <cstdio>
#include <vector>
%(include)s
int main() {
    std::vector<float> pixels(1 * 224 * 224 * 3, 0.5F);
    const float* const image = pixels.data();
    %(body)s
    for (int i = 0; i < 5; ++i) { std::printf("%%.6f\\n", static_cast<double>(scores[i])); }
}
"""


def block(language: str) -> str:
    """The code block of a language."""
    found = re.search(rf"```{language}\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)
    assert found is not None
    return found.group(1)


def make_model(file: Path) -> None:
    """Five scores of an image."""
    generator = np.random.default_rng(7)
    constants = [
        numpy_helper.from_array(generator.normal(size=shape).astype(np.float32), name)
        for name, shape in (("w", (6, 3, 3, 3)), ("v", (5, 6)), ("b", (5,)))
    ]
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["c"], strides=[2, 2], pads=[0, 0, 1, 1]),
        helper.make_node("Relu", ["c"], ["r"]),
        helper.make_node("GlobalAveragePool", ["r"], ["g"]),
        helper.make_node("Flatten", ["g"], ["f"]),
        helper.make_node("Gemm", ["f", "v", "b"], ["y"], transB=1),
    ]
    x = helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, ["batch", 3, 224, 224])
    y = helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, ["batch", 5])
    graph = helper.make_graph(nodes, "net", [x], [y], constants)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), file)


@pytest.mark.slow
def test_examples(tmp_path: Path) -> None:
    need_build_tools("k230")
    qemu = need_program("qemu-riscv64", "qemu-user")

    def run(*command: str | Path) -> str:
        result = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert result.returncode == 0, result.stdout + result.stderr
        return result.stdout

    make_model(tmp_path / "model.onnx")
    (tmp_path / "example.py").write_text(block("python"), encoding="utf-8")
    run(sys.executable, "example.py")
    lines = block("cpp").splitlines()
    include = next(line for line in lines if line.startswith("#include"))
    body = "\n    ".join(line for line in lines if not line.startswith("#include"))
    (tmp_path / "app.cpp").write_text(PROGRAM % {"include": include, "body": body}, encoding="utf-8")
    (tmp_path / "CMakeLists.txt").write_text(PROJECT, encoding="utf-8")
    cmake = need_program("cmake")
    run(
        cmake,
        "-B",
        "build",
        "-S",
        ".",
        "--toolchain",
        "out/cmake/riscv64.toolchain",
        "-DCMAKE_EXE_LINKER_FLAGS=-static",
    )
    run(cmake, "--build", "build", "--target", "app")
    scores = run(qemu, "-cpu", "rv64,v=true,vlen=128,elen=64", "build/app").split()
    session = onnxruntime.InferenceSession(str(tmp_path / "model.onnx"))
    wanted = session.run(None, {"x": np.full((1, 3, 224, 224), 0.5, np.float32)})[0]
    assert np.allclose([float(score) for score in scores], wanted.reshape(-1), atol=1e-5 * np.abs(wanted).max() + 2e-6)
