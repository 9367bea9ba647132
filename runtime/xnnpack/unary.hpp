// SPDX-License-Identifier: EPL-2.0
// Functions of one value, over rows.
#pragma once

#include "xnnpack/elementwise.hpp"
#include "xnnpack/operator.hpp"

namespace export_xnnpack {

enum class UnaryFunction {
    abs,
    approxgelu,
    bankers_rounding,
    ceiling,
    clamp,
    elu,
    erf,
    exp,
    floor,
    gelu,
    hardswish,
    leaky_relu,
    log,
    negate,
    reciprocal_square_root,
    sigmoid,
    softplus,
    square,
    square_root,
    tanh,
};

struct UnaryConfig {
    const char* layer;
    UnaryFunction function;
    Rows shape;
    Activation bounds;          ///< of clamp
    float alpha;                ///< of leaky_relu and elu
    std::size_t input_stride;   ///< elements from one input row to the next
    std::size_t output_stride;  ///< elements from one output row to the next
};

/// XNNPACK's name of a function; invalid where loop_of() has a loop instead. exp and log are in XNNPACK, but not exact
/// enough: exp is off by 4e-6 near the ends of its range and 0 for NaN, log is only absolutely right around 1.
constexpr xnn_unary_operator operator_of(UnaryFunction function) {
    switch (function) {
        case UnaryFunction::abs: return xnn_unary_abs;
        case UnaryFunction::approxgelu: return approximate_gelu_operator;
        case UnaryFunction::bankers_rounding: return xnn_unary_bankers_rounding;
        case UnaryFunction::ceiling: return xnn_unary_ceiling;
        case UnaryFunction::clamp: return xnn_unary_clamp;
        case UnaryFunction::elu: return xnn_unary_elu;
        case UnaryFunction::floor: return xnn_unary_floor;
        case UnaryFunction::gelu: return xnn_unary_gelu;
        case UnaryFunction::hardswish: return xnn_unary_hardswish;
        case UnaryFunction::leaky_relu: return xnn_unary_leaky_relu;
        case UnaryFunction::negate: return xnn_unary_negate;
        case UnaryFunction::reciprocal_square_root: return xnn_unary_reciprocal_square_root;
        case UnaryFunction::sigmoid: return xnn_unary_sigmoid;
        case UnaryFunction::square: return xnn_unary_square;
        case UnaryFunction::square_root: return xnn_unary_square_root;
        case UnaryFunction::tanh: return xnn_unary_tanh;
        default: return xnn_unary_invalid;
    }
}

using UnaryLoop = void (*)(const float* input, float* output, std::size_t count);

inline UnaryLoop loop_of(UnaryFunction function) {
    switch (function) {
        case UnaryFunction::approxgelu: return elementwise::apply<elementwise::approximate_gelu>;
        case UnaryFunction::erf: return elementwise::apply<elementwise::error_function>;
        case UnaryFunction::exp: return elementwise::apply<elementwise::exponential>;
        case UnaryFunction::log: return elementwise::apply<elementwise::logarithm>;
        case UnaryFunction::softplus: return elementwise::apply<elementwise::softplus>;
        default: return nullptr;
    }
}

/// Input and output may be the same when their strides are. What clamp makes of NaN depends on the processor: NaN on
/// x86, a bound on RISC-V. A bound of 0 may give -0.
class Unary : Operator {
public:
    explicit constexpr Unary(const UnaryConfig& config) : Operator(config.layer, "unary"), config_(config) {}

    /// Creates the operator and fixes the shape. Does nothing when done already.
    bool init() {
        const UnaryConfig& c = config_;
        if (ready_) {
            return true;
        }
        if (operator_of(c.function) == xnn_unary_invalid) {
            ready_ = true;
            return true;
        }
        xnn_unary_params params{};
        if (c.function == UnaryFunction::clamp) {
            params.clamp.min = c.bounds.min;
            params.clamp.max = c.bounds.max;
        } else if (c.function == UnaryFunction::elu) {
            params.elu.alpha = c.alpha;
        } else if (c.function == UnaryFunction::leaky_relu) {
            params.leaky_relu.negative_slope = c.alpha;
        }
        ready_ = check(xnn_create_unary_elementwise_nc(operator_of(c.function), xnn_datatype_fp32, xnn_datatype_fp32,
                                                       &params, AIDGE_XNN_UNARY_LUT /*input_quantization=*/nullptr,
                                                       /*output_quantization=*/nullptr, /*flags=*/0, &op_),
                       "create", {c.shape.rows, c.shape.channels}) &&
                 check(xnn_reshape_unary_elementwise_nc(op_, c.shape.rows, c.shape.channels, c.input_stride,
                                                        c.output_stride, /*threadpool=*/nullptr),
                       "reshape", {c.shape.rows, c.shape.channels});
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
        return op_ == nullptr || check(xnn_setup_unary_elementwise_nc(op_, input, output), "setup",
                                       {config_.shape.rows, config_.shape.channels});
    }

    bool run(const float* input, float* output) {
        if (!bind(input, output)) {
            return false;
        }
        if (op_ != nullptr) {
            return run_bound({config_.shape.rows, config_.shape.channels});
        }
        run_loop(input, output);
        return true;
    }

private:
    void run_loop(const float* input, float* output) const {
        const UnaryConfig& c = config_;
        const UnaryLoop loop = loop_of(c.function);
        if (c.input_stride == c.shape.channels && c.output_stride == c.shape.channels) {
            loop(input, output, c.shape.rows * c.shape.channels);
            return;
        }
        for (std::size_t row = 0; row < c.shape.rows; ++row) {
            loop(input + row * c.input_stride, output + row * c.output_stride, c.shape.channels);
        }
    }

    UnaryConfig config_;
    const float* input_ = nullptr;
    float* output_ = nullptr;
};

}  // namespace export_xnnpack
