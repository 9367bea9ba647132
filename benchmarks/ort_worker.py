# SPDX-License-Identifier: EPL-2.0
"""Runs a model in ONNX Runtime on one thread, with the protocol of ``harness serve``.

usage: ort_worker.py MODEL.onnx wall|cpu

Input and output are bound once, so that a run is little more than the call into the library.
"""

import sys
import time

import numpy as np
import onnxruntime as ort


def main() -> None:
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    session = ort.InferenceSession(sys.argv[1], options, providers=["CPUExecutionProvider"])
    source = session.get_inputs()[0]
    binding = session.io_binding()
    array = np.random.default_rng(0).standard_normal(source.shape).astype(np.float32)
    binding.bind_ortvalue_input(source.name, ort.OrtValue.ortvalue_from_numpy(array))
    for output in session.get_outputs():
        binding.bind_output(output.name)
    session.run_with_iobinding(binding)
    # Bound to the buffers of that first run: later ones allocate nothing.
    for output, value in zip(session.get_outputs(), binding.get_outputs(), strict=True):
        binding.bind_ortvalue_output(output.name, value)
    clock = time.thread_time_ns if sys.argv[2] == "cpu" else time.perf_counter_ns
    run = session._sess.run_with_iobinding
    inner = binding._iobinding
    print("ready", flush=True)
    for line in sys.stdin:
        times = []
        for _ in range(int(line)):
            begin = clock()
            run(inner, None)
            times.append(clock() - begin)
        print(*times, flush=True)


if __name__ == "__main__":
    main()
