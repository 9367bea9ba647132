# SPDX-License-Identifier: EPL-2.0
"""export.json: read, checked, and refused with a message that helps."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import toy_export

from aidge_export_gk7206.errors import ExportError
from aidge_export_gk7206.export_folder import UNFINISHED_FILE, ExportFolder, is_export


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    toy_export.write_description(tmp_path)
    return tmp_path


def change(folder: Path, **changes: Any) -> None:
    file = folder / "export.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), **changes}))


def test_load(folder: Path) -> None:
    export = ExportFolder.load(folder)
    assert (export.model, export.target, export.arch, export.xnn) == ("toy", "host", None, True)
    assert export.inputs[0].permutation == (0, 2, 3, 1)
    assert export.inputs[0].device_shape == (1, 2, 3, 2)
    assert export.inputs[1].permutation is None
    assert export.nodes[1].reason == "XNNPACK has no Range"
    assert export.libraries() == {"export_xnnpack": 1, "export_cpp": 1}
    for stored, wanted in zip(export.reference_inputs(), toy_export.sample_inputs(), strict=True):
        np.testing.assert_array_equal(stored, wanted)
    assert [array.shape for array in export.reference_outputs()] == [(1, 2, 2, 3), (1, 120)]
    assert is_export(folder)


def test_both_libraries_are_always_named(folder: Path) -> None:
    change(folder, nodes=[])
    assert ExportFolder.load(folder).libraries() == {"export_xnnpack": 0, "export_cpp": 0}


def test_no_folder(tmp_path: Path) -> None:
    with pytest.raises(ExportError, match=r"no folder '.*/nowhere': make it with aidge-gk7206 export"):
        ExportFolder.load(tmp_path / "nowhere")


def test_another_folder(tmp_path: Path) -> None:
    with pytest.raises(ExportError, match=r"is not an export: it has no export\.json"):
        ExportFolder.load(tmp_path)
    assert not is_export(tmp_path)


def test_an_unfinished_export(tmp_path: Path) -> None:
    (tmp_path / UNFINISHED_FILE).touch()
    with pytest.raises(ExportError, match="did not finish"):
        ExportFolder.load(tmp_path)
    assert is_export(tmp_path)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"format": 2}, "format 2, this program reads 1"),
        ({"model": 3}, "'model' is not of type str"),
        ({"arena_bytes": True}, "'arena_bytes' is not of type int"),
        ({"inputs": {}}, "'inputs' is not of type list"),
        ({"inputs": ["x"]}, "it is not a JSON object"),
        ({"inputs": [{"name": "x"}]}, "'shape' is missing"),
        ({"inputs": [{**toy_export.INPUTS[0], "shape": [1, "n"]}]}, "'shape' is not a list of integers"),
        ({"inputs": [{**toy_export.INPUTS[0], "permutation": [0, 1, 1, 2]}]}, "does not fit 'shape'"),
        ({"reference": {"source": "", "inputs": [1], "outputs": []}}, "'inputs' is not a list of strings"),
    ],
)
def test_damaged_descriptions(folder: Path, changes: dict[str, Any], message: str) -> None:
    change(folder, **changes)
    with pytest.raises(ExportError, match=message) as caught:
        ExportFolder.load(folder)
    assert "export the model again" in str(caught.value)


@pytest.mark.parametrize("text", ["", "[]", "{", '{"format": 1}', "\x00"])
def test_not_even_a_description(folder: Path, text: str) -> None:
    (folder / "export.json").write_text(text)
    with pytest.raises(ExportError, match="is damaged"):
        ExportFolder.load(folder)


@pytest.mark.parametrize(("arch", "toolchain"), [(None, ""), ("riscv64", " --toolchain cmake/riscv64.toolchain")])
def test_not_compiled(folder: Path, arch: str | None, toolchain: str) -> None:
    change(folder, arch=arch)
    with pytest.raises(ExportError, match=f"no build/run_export in .*cmake -B build{toolchain} && cmake --build"):
        ExportFolder.load(folder).binary()


def test_no_reference(folder: Path) -> None:
    change(folder, reference=None)
    with pytest.raises(ExportError, match="holds no sample and reference"):
        ExportFolder.load(folder).reference_inputs()


def test_reference_files_that_do_not_fit(folder: Path) -> None:
    export = ExportFolder.load(folder)
    file = folder / "reference" / "output_1.npy"
    np.save(file, np.zeros((1, 119), np.float32))
    with pytest.raises(ExportError, match=r"output 'ramp' \(.*output_1.npy\) has shape \[1, 119\]"):
        export.reference_outputs()
    np.save(file, np.zeros((1, 120), np.float64))
    with pytest.raises(ExportError, match=r"is damaged: output 'ramp' .* is float64: export the model again"):
        export.reference_outputs()
    file.write_bytes(b"not numpy")
    with pytest.raises(ExportError, match=r"cannot read '.*output_1.npy' as .npy"):
        export.reference_outputs()
    file.unlink()
    with pytest.raises(ExportError, match="no file"):
        export.reference_outputs()
