// SPDX-License-Identifier: EPL-2.0
// A part of a tensor: a range of each axis, forwards or backwards, in steps of any size.
#pragma once

#include <cstring>

#include "xnnpack/tensor.hpp"

namespace export_xnnpack {

struct SliceConfig {
    const char* layer;
    Dims input;
    Dims starts;
    Dims sizes;                                  ///< dims of the output
    std::array<std::ptrdiff_t, max_rank> steps;  ///< not 0; negative ones go backwards from the start
};

/// Input and output must not overlap.
class Slice : TensorOperator {
public:
    explicit constexpr Slice(const SliceConfig& config)
        : TensorOperator(config.layer, "slice", config.input), config_(config) {}

    /// Creates the operator and fixes the shape. Does nothing when done already.
    bool init() {
        if (ready_ || !contiguous()) {
            ready_ = true;
            return true;
        }
        ready_ = check_step(xnn_create_slice_nd_x32(/*flags=*/0, &op_), "create") &&
                 check_step(xnn_reshape_slice_nd_x32(op_, max_rank, config_.input.data(), config_.starts.data(),
                                                     config_.sizes.data(), /*threadpool=*/nullptr),
                            "reshape");
        return ready_;
    }

    /// Sets the pointers that the next run uses. Costs nothing when they are the same as before.
    bool bind(const float* input, float* output) {
        return init() && (!moved(input, output) || op_ == nullptr ||
                          check_step(xnn_setup_slice_nd_x32(op_, input, output), "setup"));
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
    /// Whether XNNPACK's operator can do it: it has no steps.
    constexpr bool contiguous() const {
        for (const std::ptrdiff_t step : config_.steps) {
            if (step != 1) {
                return false;
            }
        }
        return true;
    }

    void run_loop(const float* input, float* output) const {
        const Dims strides = dense_strides(config_.input);
        const std::size_t count = config_.sizes[max_rank - 1];
        const std::ptrdiff_t step = config_.steps[max_rank - 1];
        float* to = output;
        for_each_row(config_.sizes, [&](const Dims& position) {
            const float* from = input;
            for (std::size_t axis = 0; axis < max_rank; ++axis) {
                const std::ptrdiff_t at = static_cast<std::ptrdiff_t>(config_.starts[axis]) +
                                          static_cast<std::ptrdiff_t>(position[axis]) * config_.steps[axis];
                from += at * static_cast<std::ptrdiff_t>(strides[axis]);
            }
            if (step == 1) {
                std::memcpy(to, from, count * sizeof(float));
            } else {
                for (std::size_t i = 0; i < count; ++i) {
                    to[i] = from[static_cast<std::ptrdiff_t>(i) * step];
                }
            }
            to += count;
        });
    }

    SliceConfig config_;
};

}  // namespace export_xnnpack
