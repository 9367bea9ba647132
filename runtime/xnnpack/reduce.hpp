// SPDX-License-Identifier: EPL-2.0
// Mean, sum, maximum or minimum over any axes.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "xnnpack/tensor.hpp"

namespace export_xnnpack {

enum class ReduceFunction { max, mean, min, sum };

struct ReduceConfig {
    const char* layer;
    ReduceFunction function;
    Dims input;
    std::array<bool, max_rank> reduced;  ///< axes that the output has no longer
};

/// Input and output must not overlap.
class Reduce : TensorOperator {
public:
    explicit constexpr Reduce(const ReduceConfig& config)
        : TensorOperator(config.layer, "reduce", config.input), config_(config) {}

    /// Creates the operator and fixes the shape. Does nothing when done already.
    bool init() {
        if (ready_ || operator_of(config_.function) == xnn_reduce_invalid) {
            ready_ = true;
            return true;
        }
        std::array<std::int64_t, max_rank> axes{};
        std::size_t count = 0;
        for (std::size_t axis = 0; axis < max_rank; ++axis) {
            if (config_.reduced[axis]) {
                axes[count++] = static_cast<std::int64_t>(axis);
            }
        }
        std::size_t bytes = 0;
        [[maybe_unused]] std::size_t alignment = 0;
        ready_ = check_step(xnn_create_reduce_nd(operator_of(config_.function), xnn_datatype_fp32,
                                                 /*input_quantization=*/nullptr, /*output_quantization=*/nullptr,
                                                 /*flags=*/0, &op_),
                            "create") &&
                 check_step(xnn_reshape_reduce_nd(op_, count, axes.data(), max_rank, config_.input.data(), &bytes,
                                                  AIDGE_XNN_WORKSPACE_ALIGNMENT(&alignment) /*threadpool=*/nullptr),
                            "reshape");
        return ready_;
    }

    /// Sets the pointers that the next run uses. Costs nothing when they are the same as before.
    bool bind(const float* input, float* output) {
        // Whatever size reshape reports, float sums are made in the output: given a workspace, XNNPACK would convert
        // them from there, by a function that it does not have for float.
        return init() && (!moved(input, output) || op_ == nullptr ||
                          check_step(xnn_setup_reduce_nd(op_, /*workspace=*/nullptr, input, output), "setup"));
    }

    bool run(const float* input, float* output) {
        if (!bind(input, output)) {
            return false;
        }
        if (op_ != nullptr) {
            return run_step();
        }
        if (config_.function == ReduceFunction::max) {
            run_loop(input, output, -std::numeric_limits<float>::infinity(),
                     [](float a, float b) { return std::max(a, b); });
        } else {
            run_loop(input, output, std::numeric_limits<float>::infinity(),
                     [](float a, float b) { return std::min(a, b); });
        }
        return true;
    }

private:
    /// XNNPACK's name of a function; invalid where it has none, and run_loop() does it.
    static constexpr xnn_reduce_operator operator_of(ReduceFunction function) {
        switch (function) {
            case ReduceFunction::max: return reduce_max_operator;
            case ReduceFunction::mean: return xnn_reduce_mean;
            case ReduceFunction::min: return reduce_min_operator;
            case ReduceFunction::sum: return xnn_reduce_sum;
        }
        return xnn_reduce_invalid;
    }

    template <typename Combine>
    void run_loop(const float* input, float* output, float identity, Combine combine) const {
        Dims kept = config_.input;
        for (std::size_t axis = 0; axis < max_rank; ++axis) {
            kept[axis] = config_.reduced[axis] ? 1 : kept[axis];
        }
        const Dims strides = dense_strides(kept);
        std::fill_n(output, strides[0] * kept[0], identity);
        const std::size_t count = config_.input[max_rank - 1];
        const float* from = input;
        for_each_row(config_.input, [&](const Dims& position) {
            float* to = output;
            for (std::size_t axis = 0; axis < max_rank; ++axis) {
                to += config_.reduced[axis] ? 0 : position[axis] * strides[axis];
            }
            if (config_.reduced[max_rank - 1]) {
                float value = *to;
                for (std::size_t i = 0; i < count; ++i) {
                    value = combine(value, from[i]);
                }
                *to = value;
            } else {
                for (std::size_t i = 0; i < count; ++i) {
                    to[i] = combine(to[i], from[i]);
                }
            }
            from += count;
        });
    }

    ReduceConfig config_;
};

}  // namespace export_xnnpack
