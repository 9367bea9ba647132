# SPDX-License-Identifier: EPL-2.0
"""Which micro-kernels of XNNPACK run on the K230: none may be a scalar one."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.missing import need_program

from aidge_export_gk7206.export_folder import ExportFolder
from aidge_export_gk7206.runners.qemu import QemuRunner
from aidge_export_gk7206.toolchains import find_compiler
from aidge_export_gk7206.xnnpack import provider

MODELS = ["lenet", "lenet_softmax", "mobilenetv1_025_96", "resnet8", "dscnn", "autoenc", "unet", "unet_tconv", "yolo",
          "tinyyolo", "senet", "groupconv", "conv1d", "attn"]  # fmt: skip
#: Packing happens once, at the start; memcpy() is as good as it gets.
NOT_MEANT = r"_packw_|__scalar_memcpy"
#: Kinds of kernels that XNNPACK of November 2024 (Debian's) has in scalar form only.
SCALAR_IN_2024 = r"dwconv|vsigmoid|vtanh|vhswish|vclamp|ibilinear|raddstoreexpminusmax|rminmax|rmax|rdsum|rsum|gavgpool"


def kernels(project: ExportFolder, folder: Path) -> set[str]:
    """Runs an export for the K230 once; names of the micro-kernels that QEMU saw."""
    log = folder / "qemu.log"
    command = QemuRunner("riscv64").command(project.binary())
    image = folder / "input.bin"
    image.write_bytes(np.ascontiguousarray(project.reference_inputs()[0]).tobytes())
    command[1:1] = ["-d", "in_asm", "-D", str(log)]
    result = subprocess.run([*command, "--input", str(image)], capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    return set(re.findall(r"^IN: (xnn_\w*ukernel\w*)", log.read_text(encoding="utf-8", errors="replace"), re.MULTILINE))


@pytest.mark.slow
@pytest.mark.parametrize("name", MODELS)
def test_no_scalar_kernel(name: str, projects: Any, tmp_path: Path) -> None:
    need_program("qemu-riscv64", "qemu-user")
    seen = kernels(projects.get(name, "k230"), tmp_path)
    assert seen, "QEMU saw no micro-kernel at all"
    scalar = {kernel for kernel in seen if "__scalar" in kernel and not re.search(NOT_MEANT, kernel)}
    build = provider.find("riscv64", find_compiler("riscv64").identity)
    if build is not None and build.date < "2026":
        scalar = {kernel for kernel in scalar if not re.search(SCALAR_IN_2024, kernel)}
    assert not scalar, f"{sorted(scalar)}; vector kernels: {sorted(seen - scalar)}"
