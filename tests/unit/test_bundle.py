# SPDX-License-Identifier: EPL-2.0
"""Bundles for the vendor's compiler, and the samples that they and exports are calibrated with."""

from __future__ import annotations

import hashlib
import json
import shlex
import sys
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import pytest
from aidge_core.export_utils.config import ExportConfig
from onnx import TensorProto, helper, numpy_helper

from aidge_export_gk7206 import cli
from aidge_export_gk7206.bundling import bundle_model
from aidge_export_gk7206.errors import ExportError
from aidge_export_gk7206.export_folder import ExportFolder
from aidge_export_gk7206.exporting import export_model
from aidge_export_gk7206.npu.preprocessing import Preprocessing
from aidge_export_gk7206.npu.quantisation import grid_for
from aidge_export_gk7206.npu.writer import TensorSpec, XmmSpec, write_xmm
from aidge_export_gk7206.offloading import NpuOptions, offload_model
from aidge_export_gk7206.preparation import load
from aidge_export_gk7206.samples import read_sample, sample_files, sample_names

Image = pytest.importorskip("PIL.Image")
onnxruntime = pytest.importorskip("onnxruntime")

Array = npt.NDArray[Any]
PRE = Preprocessing((120.0, 110.0, 100.0), (60.0, 55.0, 50.0), "bgr")
SHAPE = (1, 3, 6, 8)


def make_model(channels: int = 3, rows: int | str = 6) -> onnx.ModelProto:
    """Two outputs of which the second follows the first, and an identity that cleaning removes."""
    random = np.random.default_rng(5)
    weights = [
        numpy_helper.from_array(random.standard_normal((4, channels, 3, 3)).astype(np.float32), "w"),
        numpy_helper.from_array(random.standard_normal(4).astype(np.float32), "b"),
    ]
    nodes = [
        helper.make_node("Identity", ["image"], ["same"]),
        helper.make_node("Conv", ["same", "w", "b"], ["heat"], pads=[1] * 4),
        helper.make_node("Relu", ["heat"], ["positive"]),
        helper.make_node("ArgMax", ["positive"], ["best"], axis=1),
    ]
    graph = helper.make_graph(
        nodes,
        "small",
        [helper.make_tensor_value_info("image", TensorProto.FLOAT, [1, channels, rows, 8])],
        [helper.make_tensor_value_info("positive", TensorProto.FLOAT, [1, 4, rows, 8])],
        weights,
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)])
    model.ir_version = 8
    return model


@pytest.fixture
def model(tmp_path: Path) -> Path:
    onnx.save(make_model(), tmp_path / "small.onnx")
    return tmp_path / "small.onnx"


@pytest.fixture
def samples(tmp_path: Path) -> Path:
    """A picture of another size, pixels, and a tensor."""
    folder = tmp_path / "samples"
    folder.mkdir()
    random = np.random.default_rng(6)
    Image.fromarray(random.integers(0, 256, (12, 20, 3), dtype=np.uint8)).save(folder / "a picture.png")
    np.save(folder / "pixels.npy", random.integers(0, 256, (6, 8, 3), dtype=np.uint8))
    pixels = random.integers(0, 256, (1, 3, 6, 8)) + 0.25
    np.save(folder / "tensor.npy", PRE.from_pixels(pixels, 1))
    (folder / "notes.txt").write_text("not a sample")
    return folder


def tree(folder: Path) -> dict[str, bytes]:
    return {f.relative_to(folder).as_posix(): f.read_bytes() for f in sorted(folder.rglob("*")) if f.is_file()}


# ---- what is in a bundle ---------------------------------------------------------------------------------------------


@pytest.fixture
def bundle(model: Path, samples: Path, tmp_path: Path) -> tuple[Path, dict[str, Any]]:
    folder = tmp_path / "bundle"
    return folder, bundle_model(model, folder, sample_files(samples), preprocessing=PRE)


def test_files_and_checksums(bundle: tuple[Path, dict[str, Any]]) -> None:
    folder, description = bundle
    files = tree(folder)
    names = ["a_picture", "pixels", "tensor"]
    golden = [f"golden/{n}/{f}" for n in names for f in ("input_data0.bin", "output_0.npy", "output_data0.bin")]
    calibration = [f"calibration/{name}.{kind}" for name in names for kind in ("bin", "npy")]
    assert sorted(files) == sorted(["README.txt", "bundle.json", "model.onnx", *calibration, *golden])
    assert json.loads(files.pop("bundle.json")) == description
    assert description["files"] == {name: hashlib.sha256(data).hexdigest() for name, data in files.items()}
    assert [sample["file"] for sample in description["samples"]] == ["a picture.png", "pixels.npy", "tensor.npy"]


def test_model_is_clean_and_keeps_its_opset(bundle: tuple[Path, dict[str, Any]]) -> None:
    folder, description = bundle
    region = onnx.load(folder / "model.onnx")
    onnx.checker.check_model(region, full_check=True)
    assert [(entry.domain, entry.version) for entry in region.opset_import] == [("", 13)]
    assert [node.op_type for node in region.graph.node] == ["Conv", "Relu"]
    assert [d.dim_value for d in region.graph.input[0].type.tensor_type.shape.dim] == list(SHAPE)
    entry = description["input"]
    assert (entry["name"], entry["layout"], entry["file_layout"]) == ("image", "NCHW", "NHWC")
    assert (entry["file_shape"], entry["holds"]) == ([1, 6, 8, 3], "pixels")
    assert (entry["dtype"], entry["scale"], entry["zero_point"]) == ("uint8", 1.0, 0)


def test_values_agree(bundle: tuple[Path, dict[str, Any]]) -> None:
    """Pixels, tensors, outputs and stored outputs are the same thing, in different forms."""
    folder, description = bundle
    (output,) = description["outputs"]
    session = onnxruntime.InferenceSession(folder / "model.onnx")
    everything = []
    for sample in description["samples"]:
        golden, calibration = folder / "golden" / sample["name"], folder / "calibration" / sample["name"]
        pixels = np.frombuffer((golden / "input_data0.bin").read_bytes(), np.uint8).reshape(1, 6, 8, 3)
        assert calibration.with_suffix(".bin").read_bytes() == pixels.tobytes()
        seen = np.load(calibration.with_suffix(".npy"))
        # Blue first in the tensor, red first in the pixels.
        expected = (pixels[..., ::-1].astype(np.float64) - PRE.mean) / PRE.std
        np.testing.assert_allclose(seen, expected.transpose(0, 3, 1, 2), atol=1e-6)
        (wanted,) = session.run(None, {"image": seen})
        real = np.load(golden / "output_0.npy")
        np.testing.assert_allclose(real, wanted, rtol=1e-5, atol=1e-5)
        stored = np.frombuffer((golden / "output_data0.bin").read_bytes(), np.uint8).reshape(real.shape)
        back = (stored.astype(np.float64) - output["zero_point"]) * output["scale"]
        assert np.abs(back - real).max() <= output["scale"] * 0.5001
        everything.append(real)
    assert (output["min"], output["max"]) == (np.min(everything), np.max(everything))
    assert output["scale"] == grid_for(np.stack(everything)).scale


def test_pixels_of_files_arrive(bundle: tuple[Path, dict[str, Any]], samples: Path) -> None:
    folder, _ = bundle
    pixels = np.load(samples / "pixels.npy")
    assert (folder / "calibration/pixels.bin").read_bytes() == pixels.tobytes()
    picture = Image.open(samples / "a picture.png").resize((8, 6), Image.Resampling.BILINEAR)
    assert (folder / "calibration/a_picture.bin").read_bytes() == np.asarray(picture).tobytes()


def test_same_bytes(model: Path, samples: Path, tmp_path: Path) -> None:
    """The same input gives the same bytes, also over what was there; files of the user stay."""
    first, second = tmp_path / "first", tmp_path / "second" / "deep"
    files = sample_files(samples)
    bundle_model(model, first, files, preprocessing=PRE)
    bundle_model(model, second, files[:1])
    (second / "neuron_network.xmm").write_bytes(b"compiled")
    (second / "golden" / "a_picture" / "mine.txt").write_bytes(b"")
    bundle_model(model, second, files[1:], preprocessing=PRE)
    assert not (second / "calibration" / "a_picture.npy").exists()
    bundle_model(model, second, files, preprocessing=PRE)
    rest = tree(second)
    assert rest.pop("neuron_network.xmm") == b"compiled"
    assert rest.pop("golden/a_picture/mine.txt") == b""
    assert rest == tree(first)


def test_a_bundle_that_fails_leaves_the_one_before(model: Path, samples: Path, tmp_path: Path) -> None:
    folder = tmp_path / "bundle"
    bundle_model(model, folder, sample_files(samples), preprocessing=PRE)
    before = tree(folder)
    np.save(samples / "wrong.npy", np.zeros((1, 3, 5, 5), np.float32))
    with pytest.raises(ExportError, match="1x3x5x5, the input 1x3x6x8"):
        bundle_model(model, folder, sample_files(samples), preprocessing=PRE)
    assert tree(folder) == before
    assert not list(folder.glob(".*"))


def test_what_a_killed_run_leaves_is_no_obstacle(model: Path, samples: Path, tmp_path: Path) -> None:
    (tmp_path / "out" / ".bundle-x" / "calibration").mkdir(parents=True)
    bundle_model(model, tmp_path / "out", sample_files(samples), preprocessing=PRE)
    assert not list((tmp_path / "out").glob(".*"))


def test_an_input_that_is_no_picture(model: Path, tmp_path: Path) -> None:
    """Without preprocessing, tensors are stored with the range that was seen of them."""
    array = np.linspace(-2, 3, 144, dtype=np.float32).reshape(SHAPE)
    np.save(tmp_path / "x.npy", array)
    description = bundle_model(model, tmp_path / "out", [tmp_path / "x.npy"])
    entry = description["input"]
    assert (entry["holds"], entry["min"], entry["max"]) == ("the input's values", -2.0, 3.0)
    assert description["preprocessing"] is None
    np.testing.assert_array_equal(np.load(tmp_path / "out/calibration/x.npy"), array)
    assert not (tmp_path / "out/calibration/x.bin").exists()
    stored = np.frombuffer((tmp_path / "out/golden/x/input_data0.bin").read_bytes(), np.uint8).reshape(1, 6, 8, 3)
    back = (stored.astype(np.float64) - entry["zero_point"]) * entry["scale"]
    assert np.abs(back - array.transpose(0, 2, 3, 1)).max() <= entry["scale"] * 0.5001
    assert "--mean" not in (tmp_path / "out/README.txt").read_text()


def test_pictures_without_preprocessing(model: Path, samples: Path, tmp_path: Path) -> None:
    description = bundle_model(model, tmp_path / "out", [samples / "a picture.png"])
    value = np.load(tmp_path / "out/calibration/a_picture.npy")
    assert description["input"]["holds"] == "pixels"
    assert value.dtype == np.float32 and value.max() > 100
    assert (tmp_path / "out/calibration/a_picture.bin").read_bytes() == value.transpose(0, 2, 3, 1).astype(
        "u1"
    ).tobytes()


# ---- regions and shapes ----------------------------------------------------------------------------------------------


def test_a_region(model: Path, samples: Path, tmp_path: Path) -> None:
    description = bundle_model(model, tmp_path / "out", sample_files(samples), outputs=["heat"], preprocessing=PRE)
    assert [output["name"] for output in description["outputs"]] == ["heat"]
    assert [node.op_type for node in onnx.load(tmp_path / "out/model.onnx").graph.node] == ["Conv"]
    readme = (tmp_path / "out" / "README.txt").read_text()
    assert "export small.onnx --target gk7206 --xnn --xmm neuron_network.xmm --xmm-output heat" in readme
    with pytest.raises(ExportError, match="computes no tensor 'nothing'"):
        bundle_model(model, tmp_path / "out", sample_files(samples), outputs=["nothing"])


def test_open_sizes(samples: Path, tmp_path: Path) -> None:
    file = tmp_path / "open.onnx"
    onnx.save(make_model(rows="height"), file)
    arguments = {"samples": sample_files(samples)[:1], "folder": tmp_path / "out"}
    with pytest.raises(ExportError, match="no fixed shape"):
        bundle_model(file, **arguments)
    assert bundle_model(file, **arguments, shapes={"": [1, 3, 10, 8]})["input"]["shape"] == [1, 3, 10, 8]
    description = bundle_model(file, **arguments, sample=samples / "tensor.npy", preprocessing=PRE)
    assert description["input"]["shape"] == list(SHAPE)
    assert [sample["name"] for sample in description["samples"]] == ["tensor", "a_picture"]


def test_outputs_that_are_no_real_numbers(samples: Path, tmp_path: Path) -> None:
    model = make_model()
    model.graph.output.append(helper.make_tensor_value_info("best", TensorProto.INT64, [1, 1, 6, 8]))
    onnx.save(model, tmp_path / "best.onnx")
    with pytest.raises(ExportError, match=r"output 'best' is int64.*--xmm-output"):
        bundle_model(tmp_path / "best.onnx", tmp_path / "out", sample_files(samples))


def test_preprocessing_that_does_not_fit(model: Path, samples: Path, tmp_path: Path) -> None:
    np.save(tmp_path / "pixels_as_floats.npy", np.full(SHAPE, 100, np.float32))
    with pytest.raises(ExportError, match=r"'pixels_as_floats' is from .* give --mean and --std"):
        bundle_model(model, tmp_path / "out", [tmp_path / "pixels_as_floats.npy"], preprocessing=PRE)
    two = Preprocessing((1.0, 2.0))
    with pytest.raises(ExportError, match="mean has 2 numbers, the input has 3 channels"):
        bundle_model(model, tmp_path / "out", sample_files(samples), preprocessing=two)


# ---- samples ---------------------------------------------------------------------------------------------------------


def test_sample_names() -> None:
    files = [Path(name) for name in ("a.npy", "b/a.png", "ü 1.bmp", ".png", "..x.npy", "a.jpg")]
    assert sample_names(files) == ["a", "a_2", "__1", "png", "x", "a_3"]


def test_grey_pictures(tmp_path: Path) -> None:
    Image.new("RGB", (9, 9), (255, 0, 0)).save(tmp_path / "red.png")
    sample = read_sample(tmp_path / "red.png", (1, 1, 4, 4), Preprocessing())
    assert sample.value.shape == (1, 1, 4, 4) and (sample.value == 76).all()
    np.save(tmp_path / "grey.npy", np.full((4, 4), 7, np.uint8))
    assert (read_sample(tmp_path / "grey.npy", (1, 1, 4, 4), Preprocessing()).value == 7).all()


@pytest.mark.parametrize(
    ("array", "message"),
    [
        (np.zeros((1, 3, 6, 8)), "is float64: convert it with astype"),
        (np.zeros((1, 3, 6, 9), np.float32), "is 1x3x6x9, the input 1x3x6x8"),
        (np.full(SHAPE, np.nan, np.float32), "infinite or not a number"),
        (np.zeros((7, 8, 3), np.uint8), "is uint8 and 7x8x3, the input takes 6x8x3 pixels"),
        (np.zeros(SHAPE, np.uint8), "is uint8 and 1x3x6x8"),
    ],
)
def test_bad_arrays(tmp_path: Path, array: Array, message: str) -> None:
    np.save(tmp_path / "bad.npy", array)
    with pytest.raises(ExportError, match=message):
        read_sample(tmp_path / "bad.npy", SHAPE, PRE)


def test_bad_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    picture = tmp_path / "broken.png"
    picture.write_bytes(b"\x89PNG\r\n\x1a\n and no more")
    with pytest.raises(ExportError, match=r"cannot read the picture .*: save it again, or remove it"):
        read_sample(picture, SHAPE, PRE)
    with pytest.raises(ExportError, match="holds pixels, and the input is 1x10, no image"):
        read_sample(picture, (1, 10), Preprocessing())
    monkeypatch.setitem(sys.modules, "PIL", None)
    with pytest.raises(ExportError, match="Pillow is not installed: pip install pillow"):
        read_sample(picture, SHAPE, PRE)
    with pytest.raises(ExportError, match="no folder"):
        sample_files(tmp_path / "nowhere")
    (tmp_path / "empty").mkdir()
    with pytest.raises(ExportError, match=r"no .npy files and no pictures in"):
        sample_files(tmp_path / "empty")


def test_exports_calibrate_with_the_same_samples(model: Path, samples: Path, tmp_path: Path) -> None:
    """``export --npu --calibration`` and the bundle see the same ranges."""
    files = sample_files(samples)
    description = bundle_model(model, tmp_path / "out", files, preprocessing=PRE)
    offloaded = offload_model(load(model), "small", {}, NpuOptions(preprocessing=PRE, samples=files), tmp_path)
    (match,) = offloaded.region.outputs
    assert match.tensor.scale == pytest.approx(description["outputs"][0]["scale"], rel=0.02)
    np.testing.assert_array_equal(offloaded.samples[0], np.load(tmp_path / "out/calibration/a_picture.npy"))


def test_golden_vectors_serve_the_simulator(model: Path, samples: Path, tmp_path: Path) -> None:
    """Beside a file that quantises as the bundle says, they are the reference of its export, which carries them."""
    description = bundle_model(model, tmp_path / "bundle", sample_files(samples), preprocessing=PRE)
    (output,) = description["outputs"]
    tensors = [
        TensorSpec(description["input"]["file_shape"], "input"),
        TensorSpec(output["shape"], "output", scale=output["scale"], zero_point=output["zero_point"]),
    ]
    golden = tmp_path / "bundle" / "golden" / "tensor"
    file = golden / "neuron_network.xmm"
    file.write_bytes(write_xmm(XmmSpec(tensors=tensors)))
    config = ExportConfig(target="host", export_folder=str(tmp_path / "export"), cuda=False, compile=False)
    export = ExportFolder.load(export_model(file, config).folder)
    (reference,) = export.reference_outputs()
    assert np.abs(reference - np.load(golden / "output_0.npy")).max() <= output["scale"] * 0.5001
    for name in ("input_data0.bin", "output_data0.bin"):
        assert (export.path / name).read_bytes() == (golden / name).read_bytes()


# ---- the command -----------------------------------------------------------------------------------------------------


def run(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> tuple[int, str, str]:
    code = cli.main(["bundle", *map(str, arguments)])
    return code, *capsys.readouterr()


def test_command(model: Path, samples: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    given = ["--calibration", samples, "--mean=120,110,100", "--std", "60,55,50", "--order", "bgr"]
    code, out, err = run(capsys, model, *given, "-o", tmp_path / "out")
    assert code == 0, err
    assert "3 samples" in out
    command = shlex.split(out.splitlines()[-1])
    assert command[:3] == ["aidge-gk7206", "export", "model.onnx"]
    options = cli._parser(command[1:]).parse_args(command[1:])
    assert (options.mean, options.std, options.order) == (PRE.mean, PRE.std, PRE.order)
    assert str(options.xmm) == "neuron_network.xmm"
    direct = tmp_path / "direct"
    bundle_model(model, direct, sample_files(samples), preprocessing=PRE)
    assert tree(tmp_path / "out") == tree(direct)
    code, out, _ = run(capsys, model, *given, "-o", tmp_path / "out", "--json", "--input", samples / "pixels.npy")
    answer = json.loads(out)
    assert code == 0
    assert (answer["folder"], answer["samples"][0]) == (str(tmp_path / "out"), {"name": "pixels", "file": "pixels.npy"})


def test_command_errors(model: Path, samples: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    full = tmp_path / "full"
    full.mkdir()
    (full / "precious.txt").touch()
    for arguments, message in (
        (["none.onnx", "--calibration", samples, "-o", "x"], "no file 'none.onnx'"),
        ([model, "--calibration", tmp_path / "no", "-o", "x"], "no folder"),
        ([model, "--calibration", samples, "-o", full], "holds something other than a bundle: choose another with -o"),
        ([model, "--calibration", samples, "-o", model], "is a file"),
        ([model, "--calibration", samples, "-o", tmp_path / "x", "--std", "0"], "is not positive"),
    ):
        code, out, err = run(capsys, *arguments)
        assert (code, out) == (1 if "--std" in arguments else 2, "")
        last = err.splitlines()[-1]
        assert last.startswith("aidge-gk7206: error: ") and message in last
        assert [line for line in err.splitlines()[:-1] if not line.endswith(" ...")] == []
