// SPDX-License-Identifier: EPL-2.0
// What operators on one dense tensor of up to six axes share.
#pragma once

#include "xnnpack/dims.hpp"
#include "xnnpack/operator.hpp"

namespace export_xnnpack {

/// Owns an operator with one input and one output; failures name the dims of the input.
class TensorOperator : protected Operator {
protected:
    constexpr TensorOperator(const char* layer, const char* type, const Dims& input)
        : Operator(layer, type), dims_(input) {}

    bool check_step(xnn_status status, const char* step) {
        return check(status, step, {dims_[0], dims_[1], dims_[2], dims_[3], dims_[4], dims_[5]});
    }

    /// Remembers the pointers.
    /// \return Whether they differ from those before, so that the operator must be set up anew.
    bool moved(const float* input, float* output) {
        const bool same = input == input_ && output == output_;
        input_ = input;
        output_ = output;
        return !same;
    }

    bool run_step() { return check_step(xnn_run_operator(op_, /*threadpool=*/nullptr), "run"); }

private:
    Dims dims_;
    const float* input_ = nullptr;
    float* output_ = nullptr;
};

}  // namespace export_xnnpack
