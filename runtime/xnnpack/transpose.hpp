// SPDX-License-Identifier: EPL-2.0
// Another order of axes.
#pragma once

#include "xnnpack/tensor.hpp"

namespace export_xnnpack {

struct TransposeConfig {
    const char* layer;
    Dims input;
    Dims permutation;  ///< axis of the input that each axis of the output is
};

/// Input and output must not overlap.
class Transpose : TensorOperator {
public:
    explicit constexpr Transpose(const TransposeConfig& config)
        : TensorOperator(config.layer, "transpose", config.input), config_(config) {}

    /// Creates the operator and fixes the shape. Does nothing when done already.
    bool init() {
        if (!ready_) {
            ready_ = check_step(xnn_create_transpose_nd_x32(/*flags=*/0, &op_), "create") &&
                     check_step(xnn_reshape_transpose_nd_x32(op_, max_rank, config_.input.data(),
                                                             config_.permutation.data(), /*threadpool=*/nullptr),
                                "reshape");
        }
        return ready_;
    }

    /// Sets the pointers that the next run uses. Costs nothing when they are the same as before.
    bool bind(const float* input, float* output) {
        return init() && (!moved(input, output) || check_step(xnn_setup_transpose_nd_x32(op_, input, output), "setup"));
    }

    bool run(const float* input, float* output) { return bind(input, output) && run_step(); }

private:
    TransposeConfig config_;
};

}  // namespace export_xnnpack
