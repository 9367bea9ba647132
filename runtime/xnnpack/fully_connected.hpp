// SPDX-License-Identifier: EPL-2.0
// Fully connected layer: rows times a constant matrix, plus a bias, with a fused activation.
#pragma once

#include "xnnpack/operator.hpp"

namespace export_xnnpack {

struct FullyConnectedConfig {
    const char* layer;
    Rows input;
    Rows output;
    Activation activation;
    const float* weights;         ///< [output channels][input channels]
    const float* bias;            ///< [output channels], or nullptr
    std::size_t packed_channels;  ///< output channels in weights and bias: more than output.channels when padded
    std::size_t input_stride;     ///< elements from one input row to the next
    std::size_t output_stride;    ///< elements from one output row to the next, at least packed_channels
};

class FullyConnected : Operator {
public:
    explicit constexpr FullyConnected(const FullyConnectedConfig& config)
        : Operator(config.layer, "fully connected"), config_(config) {}

    /// Packs the weights and fixes the shape. Does nothing when done already.
    bool init() {
        if (ready_) {
            return true;
        }
        const FullyConnectedConfig& c = config_;
        if (!check(xnn_create_fully_connected_nc_f32(c.input.channels, c.packed_channels, c.input_stride,
                                                     c.output_stride, c.weights, c.bias, c.activation.min,
                                                     c.activation.max, /*flags=*/0,
                                                     AIDGE_XNN_CODE_CACHE /*weights_cache=*/nullptr, &op_),
                   "create", {c.packed_channels, c.input.channels})) {
            return false;
        }
        release_pages(c.weights, c.packed_channels * c.input.channels * sizeof(float));
        ready_ = check(xnn_reshape_fully_connected_nc_f32(op_, c.input.rows, /*threadpool=*/nullptr), "reshape",
                       {c.input.rows, c.input.channels});
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
        return check(xnn_setup_fully_connected_nc_f32(op_, input, output), "setup",
                     {config_.input.rows, config_.input.channels});
    }

    bool run(const float* input, float* output) {
        return bind(input, output) && run_bound({config_.input.rows, config_.input.channels});
    }

private:
    FullyConnectedConfig config_;
    const float* input_ = nullptr;
    float* output_ = nullptr;
};

}  // namespace export_xnnpack
