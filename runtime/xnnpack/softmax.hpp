// SPDX-License-Identifier: EPL-2.0
// Softmax of every row.
#pragma once

#include "xnnpack/operator.hpp"

namespace export_xnnpack {

struct SoftmaxConfig {
    const char* layer;
    Rows shape;
    std::size_t input_stride;   ///< elements from one input row to the next
    std::size_t output_stride;  ///< elements from one output row to the next
};

/// Input and output may be the same when their strides are.
class Softmax : Operator {
public:
    explicit constexpr Softmax(const SoftmaxConfig& config) : Operator(config.layer, "softmax"), config_(config) {}

    /// Creates the operator and fixes the shape. Does nothing when done already.
    bool init() {
        const SoftmaxConfig& c = config_;
        if (!ready_) {
            ready_ = check(xnn_create_softmax_nc_f32(/*flags=*/0, &op_), "create", {c.shape.rows, c.shape.channels}) &&
                     check(xnn_reshape_softmax_nc_f32(op_, c.shape.channels, c.input_stride, c.output_stride,
                                                      c.shape.rows, /*threadpool=*/nullptr),
                           "reshape", {c.shape.rows, c.shape.channels});
        }
        return ready_;
    }

    /// Sets the pointers that the next run uses. Costs nothing when they are the same as before.
    bool bind(const float* input, float* output) {
        if (!init()) {
            return false;
        }
        if (input == input_ && output == output_) {
            return true;
        }
        input_ = input;
        output_ = output;
        return check(xnn_setup_softmax_nc_f32(op_, input, output), "setup",
                     {config_.shape.rows, config_.shape.channels});
    }

    bool run(const float* input, float* output) {
        return bind(input, output) && run_bound({config_.shape.rows, config_.shape.channels});
    }

private:
    SoftmaxConfig config_;
    const float* input_ = nullptr;
    float* output_ = nullptr;
};

}  // namespace export_xnnpack
