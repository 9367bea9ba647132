# SPDX-License-Identifier: EPL-2.0
"""What the commands of ``aidge-gk7206`` do. Each takes its arguments and returns the exit code."""

from __future__ import annotations

import argparse
import dataclasses
import re
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from aidge_export_gk7206.errors import ArgumentError
from aidge_export_gk7206.export_folder import UNFINISHED_FILE, ExportFolder, is_export
from aidge_export_gk7206.export_process import NpuRequest
from aidge_export_gk7206.printing import note, print_bundle, print_export, print_json, print_run, print_validation
from aidge_export_gk7206.tables import print_table

if TYPE_CHECKING:
    pass


def export(options: argparse.Namespace) -> int:
    """``export MODEL.onnx``"""
    from aidge_core.export_utils.config import ExportConfig

    from aidge_export_gk7206.export_process import Request, export_in_process

    for file in (options.model, options.input, options.xmm):
        if file is not None and not file.is_file():
            raise ArgumentError(f"no file '{file}'", "check the name")
    given = vars(options)
    config = {field.name: given[field.name] for field in dataclasses.fields(ExportConfig) if field.name in given}
    folder = options.folder or _default_folder(options.model, config["dtype"], config["target"])
    _check_replaceable(folder)
    config |= {"export_folder": str(folder), "clone_model": False, "cuda": False}
    try:
        report = export_in_process(
            Request(
                options.model,
                config,
                options.input,
                _shapes(options.shape),
                npu=_npu_request(options),
                force=options.force,
                debug="debug" in given,
            ),
            _progress,
        )
    except BaseException:
        # So that the next attempt may replace what this one left.
        if folder.is_dir() and not is_export(folder):
            (folder / UNFINISHED_FILE).touch()
        raise
    if options.json:
        report["folder"] = str(folder)
        keys = ("folder", "target", "nodes", "arena_bytes", "weights_bytes", "macs", "memory")
        print_json({key: report[key] for key in keys})
    else:
        print_export(folder, report)
    return 0


def bundle(options: argparse.Namespace) -> int:
    """``bundle MODEL.onnx``"""
    from aidge_export_gk7206.export_process import BundleRequest, export_in_process
    from aidge_export_gk7206.npu.bundle import check_folder
    from aidge_export_gk7206.npu.bundle_readme import export_command
    from aidge_export_gk7206.samples import sample_files

    for file in (options.model, options.input):
        if file is not None and not file.is_file():
            raise ArgumentError(f"no file '{file}'", "check the name")
    check_folder(options.folder)
    request = BundleRequest(
        options.model,
        options.folder,
        sample_files(options.calibration),
        options.input,
        _shapes(options.shape),
        tuple(options.xmm_output),
        options.mean or (0.0,),
        options.std or (1.0,),
        options.order or "rgb",
        debug="debug" in vars(options),
    )
    description = export_in_process(request, _progress)
    if options.json:
        print_json({"folder": str(options.folder), **description})
        return 0
    print_bundle(options.folder, description)
    print(f"\nREADME.txt there says how to go on; in the end:\n    {export_command(description, request.outputs)}")
    return 0


def run(options: argparse.Namespace) -> int:
    """``run DIR``"""
    from aidge_export_gk7206.runners import RunOptions, get_runner
    from aidge_export_gk7206.tensor_files import check_arrays, load_array, save_archive

    folder = ExportFolder.load(options.folder)
    runner = get_runner(options.on, folder, options.vlen)
    if options.output is not None:
        _check_writable(options.output)
    if options.input is None:
        inputs = folder.reference_inputs()
    else:
        inputs = [load_array(file) for file in options.input]
        check_arrays(inputs, folder.inputs, "input", [str(file) for file in options.input])
    result = runner.run(
        folder, inputs, RunOptions(options.warmup, options.iterations, options.profile, options.timeout)
    )
    outputs = {tensor.name: array for tensor, array in zip(folder.outputs, result.outputs, strict=True)}
    if options.output is not None:
        save_archive(options.output, outputs)
    if options.json:
        print_json({"runner": runner.name, **result.raw})
    else:
        print_run(runner.name, folder, outputs, result)
    return 0


def validate(options: argparse.Namespace) -> int:
    """``validate DIR``"""
    from aidge_export_gk7206 import validation
    from aidge_export_gk7206.runners import RunOptions, get_runner

    folder = ExportFolder.load(options.folder)
    runner = get_runner(options.on, folder, options.vlen)
    result = validation.validate(folder, runner, RunOptions(timeout=options.timeout))
    if options.json:
        print_json(result.to_json())
    else:
        print_validation(result)
    for output in result.outputs:
        if output.non_finite:
            note(f"output '{output.name}' holds {output.non_finite} values that are infinite or not a number")
    return 0 if result.passed else 1


def doctor(options: argparse.Namespace) -> int:
    """``doctor``"""
    from aidge_export_gk7206.doctor import checks

    found = checks()
    if options.json:
        print_json([dataclasses.asdict(check) for check in found])
    else:
        states = [("ok" if check.ok else "MISSING" if check.required else "missing") for check in found]
        print_table(
            ("what", "state", "found"),
            [(check.name, state, check.detail) for check, state in zip(found, states, strict=True)],
        )
        for check in found:
            if check.remedy:
                print(f"\n{check.name}{'' if check.required else ' (optional)'}:\n    {check.remedy}")
    return 0 if all(check.ok for check in found if check.required) else 1


def inspect(options: argparse.Namespace) -> int:
    """``inspect FILE.xmm``"""
    from aidge_export_gk7206.npu.inspect import describe, print_tables

    description = describe(options.model)
    if options.json:
        print_json(description)
    else:
        print_tables(description)
    return 0


def xnnpack_build(options: argparse.Namespace) -> int:
    """``xnnpack build``"""
    from aidge_export_gk7206.xnnpack import provider

    provider.build(options.arch, options.source, jobs=options.jobs, force=options.force)
    return 0


def xnnpack_list(options: argparse.Namespace) -> int:
    """``xnnpack list``"""
    from aidge_export_gk7206.xnnpack import cache

    builds = cache.installed()
    if options.json:
        print_json([{**dataclasses.asdict(build), "folder": str(build.folder)} for build in builds])
    elif builds:
        head = ("arch", "commit", "date", "from", "compiler", "flags", "folder")
        rows = [(b.arch, b.commit, b.date, b.origin, b.compiler, b.flags, str(b.folder)) for b in builds]
        print_table(head, rows)
    else:
        note("no XNNPACK in the cache: aidge-gk7206 xnnpack build --arch riscv64 makes one")
    return 0


# ---- helpers of export -----------------------------------------------------------------------------------------------


def _default_folder(model: Path, dtype: str, target: str) -> Path:
    """As Aidge names it."""
    return Path(f"export_{re.sub(r'[^0-9A-Za-z_]', '_', model.stem)}_{dtype}_{target}")


def _shapes(texts: Sequence[str]) -> dict[str, list[int]]:
    """Reads ``name=1,3,48,192`` or, for the only input, ``1,3,48,192``."""
    shapes: dict[str, list[int]] = {}
    for text in texts:
        name, _, dims = text.rpartition("=")
        if re.fullmatch(r"[1-9][0-9]*([,x][1-9][0-9]*)*", dims) is None:
            raise ArgumentError(f"--shape '{text}' is not a shape", "write it as 1,3,224,224 or input=1,3,224,224")
        if name in shapes:
            raise ArgumentError(f"--shape names '{name or 'the input'}' twice", "give each input one shape")
        shapes[name] = [int(dim) for dim in re.split("[,x]", dims)]
    return shapes


def _npu_request(options: argparse.Namespace) -> NpuRequest | None:
    """What the options say about the NPU; None where they say nothing.

    :raises ExportError: They contradict each other.
    """
    preprocessing = [name for name in ("mean", "std", "order") if getattr(options, name) is not None]
    given = [f"--{name}" for name in (*preprocessing, "calibration") if getattr(options, name) is not None]
    given += ["--xmm-output"] if options.xmm_output else []
    given += ["--raw"] if options.raw else []
    is_model = options.model.suffix == ".xmm"
    if not (options.on_npu or options.xmm or is_model):
        if given:
            raise ArgumentError(f"{given[0]} is for models on the NPU", "add --xmm FILE, or --npu for the simulator")
        return None
    outputs: dict[str, int | None] = {}
    for text in options.xmm_output:
        name, _, index = text.rpartition("=")
        known = bool(name) and index.isdigit()
        outputs[name if known else text] = int(index) if known else None
    samples: tuple[Path, ...] = ()
    if options.calibration is not None:
        from aidge_export_gk7206.samples import sample_files

        samples = sample_files(options.calibration)
    return NpuRequest(
        options.xmm,
        outputs,
        options.mean or (0.0,),
        options.std or (1.0,),
        options.order or "rgb",
        options.raw,
        samples,
    )


def _check_replaceable(folder: Path) -> None:
    """Refuses to export over something that is not an export: Aidge empties the folder."""
    if folder.exists() and not folder.is_dir():
        raise ArgumentError(f"'{folder}' is a file", "choose another folder with -o")
    if folder.is_dir() and any(folder.iterdir()) and not is_export(folder):
        raise ArgumentError(f"the folder '{folder}' holds something other than an export", "choose another with -o")
    _check_place(folder)


def _check_place(folder: Path) -> None:
    """Refuses a folder that cannot be made or written, before the work rather than after it."""
    there = folder.absolute()
    while not there.exists():
        there = there.parent
    if not there.is_dir():
        raise ArgumentError(f"cannot make the folder '{folder}': '{there}' is a file", "choose another with -o")
    # Whether that may be written cannot be told from its mode alone: /proc says yes to root.
    try:
        with tempfile.TemporaryDirectory(dir=there):
            pass
    except OSError as error:
        raise ArgumentError(f"cannot write to '{there}' ({error.strerror})", "choose another folder with -o") from error


def _check_writable(file: Path) -> None:
    """Refuses an output that cannot be written, before the run rather than after it."""
    if not file.resolve().parent.is_dir():
        raise ArgumentError(f"no folder for '{file}'", "make it, or choose another --output")
    there = file.exists()
    try:
        with file.open("ab"):
            pass
    except OSError as error:
        raise ArgumentError(f"cannot write '{file}' ({error.strerror})", "choose another --output") from error
    if not there:
        file.unlink()


def _progress(step: str) -> None:
    note(f"{step} ...")
