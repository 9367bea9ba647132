#!/usr/bin/env python3
# SPDX-License-Identifier: EPL-2.0
"""Writes the inputs that the fuzzer begins with: ``python tests/fuzz/make_corpus.py``."""

import sys
from pathlib import Path

CORPUS = Path(__file__).resolve().parent / "corpus"
sys.path[:0] = [str(CORPUS.parents[1]), str(CORPUS.parents[2])]


def files() -> dict[str, bytes]:
    """The corpus, by name."""
    from support.xmm_files import sample, with_header

    from aidge_export_gk7206.npu.writer import NodeSpec, ProgramSpec, TensorSpec, XmmSpec, write_xmm

    detector = XmmSpec(
        tensors=[
            TensorSpec((1, 12, 12, 3), "input", name="input"),
            TensorSpec((1, 4, 1, 1), "output", scale=0.0035, zero_point=192),
            TensorSpec((1, 2, 1, 1), "output", scale=1 / 255),
            *[TensorSpec((4, 1, 1, 2), "constant", 0, data=bytes(8)) for _ in range(4)],
            *[TensorSpec((1, 4, 8, 8), "workspace") for _ in range(4)],
        ],
        nodes=[NodeSpec(f"tvmgen_default_fused_xm_conv2d_{i}", (i, i + 3), (i + 7,)) for i in range(4)],
        memory_reuse_type=1,
    )
    plain = XmmSpec([TensorSpec((1, 8), "input"), TensorSpec((1, 8), "output", zero_point=255)])
    few = XmmSpec(programs=[ProgramSpec("", b"")], subgraphs=(), private_data=bytes(64), model_type=1)
    return {
        "every-field": write_xmm(sample()),
        "detector": write_xmm(detector),
        "plain": write_xmm(plain),
        "few-fields": write_xmm(few),
        "nothing": with_header(b"", b""),
    }


if __name__ == "__main__":
    for name, data in files().items():
        (CORPUS / f"{name}.xmm").write_bytes(data)
