// SPDX-License-Identifier: EPL-2.0
// Padding with a constant, with the mirrored tensor, or with its edge.
#pragma once

#include <cstring>

#include "xnnpack/tensor.hpp"

namespace export_xnnpack {

enum class PadMode { constant, edge, reflect };

struct PadConfig {
    const char* layer;
    PadMode mode;
    float value;  ///< of constant
    Dims input;
    Dims before;  ///< of reflect: less than input
    Dims after;   ///< of reflect: less than input
};

/// Input and output must not overlap.
class Pad : TensorOperator {
public:
    explicit constexpr Pad(const PadConfig& config)
        : TensorOperator(config.layer, "pad", config.input), config_(config) {}

    /// Creates the operator and fixes the shape. Does nothing when done already.
    bool init() {
        if (ready_ || config_.mode != PadMode::constant) {
            ready_ = true;
            return true;
        }
        ready_ = check_step(xnn_create_constant_pad_nd_x32(&config_.value, /*flags=*/0, &op_), "create") &&
                 check_step(xnn_reshape_constant_pad_nd_x32(op_, max_rank, config_.input.data(), config_.before.data(),
                                                            config_.after.data(), /*threadpool=*/nullptr),
                            "reshape");
        return ready_;
    }

    /// Sets the pointers that the next run uses. Costs nothing when they are the same as before.
    bool bind(const float* input, float* output) {
        return init() && (!moved(input, output) || op_ == nullptr ||
                          check_step(xnn_setup_constant_pad_nd_x32(op_, input, output), "setup"));
    }

    bool run(const float* input, float* output) {
        if (!bind(input, output)) {
            return false;
        }
        if (op_ != nullptr) {
            return run_step();
        }
        run_loop(input, output);
        return true;
    }

private:
    /// Where a position of the padded axis comes from.
    std::size_t source(std::size_t axis, std::size_t position) const {
        const std::size_t before = config_.before[axis];
        const std::size_t last = config_.input[axis] - 1;
        if (position < before) {
            return config_.mode == PadMode::edge ? 0 : before - position;
        }
        position -= before;
        if (position > last) {
            return config_.mode == PadMode::edge ? last : last - (position - last);
        }
        return position;
    }

    void run_loop(const float* input, float* output) const {
        constexpr std::size_t row = max_rank - 1;
        Dims padded{};
        for (std::size_t axis = 0; axis < max_rank; ++axis) {
            padded[axis] = config_.before[axis] + config_.input[axis] + config_.after[axis];
        }
        const Dims strides = dense_strides(config_.input);
        const std::size_t begin = config_.before[row];
        const std::size_t end = begin + config_.input[row];
        float* to = output;
        for_each_row(padded, [&](const Dims& position) {
            const float* from = input;
            for (std::size_t axis = 0; axis < row; ++axis) {
                from += source(axis, position[axis]) * strides[axis];
            }
            for (std::size_t i = 0; i < begin; ++i) {
                to[i] = from[source(row, i)];
            }
            std::memcpy(to + begin, from, config_.input[row] * sizeof(float));
            for (std::size_t i = end; i < padded[row]; ++i) {
                to[i] = from[source(row, i)];
            }
            to += padded[row];
        });
    }

    PadConfig config_;
};

}  // namespace export_xnnpack
