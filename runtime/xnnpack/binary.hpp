// SPDX-License-Identifier: EPL-2.0
// Functions of two values with numpy broadcasting, and a fused activation.
#pragma once

#include <limits>

#include "xnnpack/dims.hpp"
#include "xnnpack/operator.hpp"
#include "xnnpack/unary.hpp"

namespace export_xnnpack {

struct BinaryConfig {
    const char* layer;
    xnn_binary_operator function;  ///< pow has no vector kernel in any version, prelu none on RISC-V in 2024
    Dims a;
    Dims b;
    Activation activation;
};

/// The output may be an input that is as large as the output.
class Binary : Operator {
public:
    explicit constexpr Binary(const BinaryConfig& config)
        : Operator(config.layer, "binary"), config_(config),
          clamp_(UnaryConfig{config.layer, UnaryFunction::clamp, Rows{1, elements(config)}, config.activation,
                             /*alpha=*/0.0F, elements(config), elements(config)}) {}

    /// Creates the operators and fixes the shape. Does nothing when done already.
    bool init() {
        if (!ready_) {
            ready_ = check(xnn_create_binary_elementwise_nd(config_.function, xnn_datatype_fp32,
                                                            /*a_quantization=*/nullptr, /*b_quantization=*/nullptr,
                                                            /*output_quantization=*/nullptr, /*flags=*/0, &op_),
                           "create", {elements(config_)}) &&
                     check(xnn_reshape_binary_elementwise_nd(op_, max_rank, config_.a.data(), max_rank,
                                                             config_.b.data(), /*threadpool=*/nullptr),
                           "reshape", {elements(config_)}) &&
                     (!clamped() || clamp_.init());
        }
        return ready_;
    }

    /// Sets the pointers that the next run uses. Costs nothing when they are the same as before.
    bool bind(const float* a, const float* b, float* output) {
        if (!init()) {
            return false;
        }
        if (a == a_ && b == b_ && output == output_) {
            return true;
        }
        a_ = a;
        b_ = b;
        output_ = output;
        return check(xnn_setup_binary_elementwise_nd(op_, a, b, output), "setup", {elements(config_)}) &&
               (!clamped() || clamp_.bind(output, output));
    }

    bool run(const float* a, const float* b, float* output) {
        // XNNPACK's binary operators have no activation: a second, in-place operator takes its part.
        return bind(a, b, output) && run_bound({elements(config_)}) && (!clamped() || clamp_.run(output, output));
    }

private:
    static constexpr std::size_t elements(const BinaryConfig& config) {
        std::size_t count = 1;
        for (std::size_t axis = 0; axis < max_rank; ++axis) {
            count *= config.a[axis] == 1 ? config.b[axis] : config.a[axis];
        }
        return count;
    }

    constexpr bool clamped() const {
        return config_.activation.min > -std::numeric_limits<float>::infinity() ||
               config_.activation.max < std::numeric_limits<float>::infinity();
    }

    BinaryConfig config_;
    Unary clamp_;
    const float* a_ = nullptr;
    const float* b_ = nullptr;
    float* output_ = nullptr;
};

}  // namespace export_xnnpack
