// SPDX-License-Identifier: EPL-2.0
// Batches of matrix products. Leading axes broadcast; the right side may be constant, and transposed.
#pragma once

#include "xnnpack/operator.hpp"

namespace export_xnnpack {

struct MatMulConfig {
    const char* layer;
    std::size_t batch_rank;                    ///< leading axes of both sides
    std::size_t batch_a[XNN_MAX_TENSOR_DIMS];  ///< their sizes on the left side,
    std::size_t batch_b[XNN_MAX_TENSOR_DIMS];  ///< and on the right side; 1 where that side repeats
    std::size_t rows;                          ///< of the left side and of the result
    std::size_t depth;                         ///< columns of the left side
    std::size_t columns;                       ///< of the result
    bool transpose_b;                          ///< right side is [columns][depth] instead of [depth][columns]
    const float* constant_b;                   ///< the right side, or nullptr when it is an input
};

class MatMul : Operator {
public:
    explicit constexpr MatMul(const MatMulConfig& config) : Operator(config.layer, "matrix product"), config_(config) {}

    /// Packs a constant right side and fixes the shape. Does nothing when done already.
    bool init() {
        if (ready_) {
            return true;
        }
        const MatMulConfig& c = config_;
        const std::uint32_t flags = c.transpose_b ? XNN_FLAG_TRANSPOSE_B : 0;
        if (c.constant_b == nullptr) {
            if (!check(xnn_create_batch_matrix_multiply_nc_f32(flags, &op_), "create", {c.rows, c.depth, c.columns})) {
                return false;
            }
        } else {
            std::size_t matrices = 1;
            for (std::size_t i = 0; i < c.batch_rank; ++i) {
                matrices *= c.batch_b[i];
            }
            if (!check(xnn_create_batch_matrix_multiply_nc_f32_const_weights(matrices, c.depth, c.columns, c.constant_b,
                                                                             flags, &op_),
                       "create", {matrices, c.depth, c.columns})) {
                return false;
            }
            release_pages(c.constant_b, matrices * c.depth * c.columns * sizeof(float));
        }
        std::size_t bytes = 0;
        [[maybe_unused]] std::size_t alignment = 0;
        if (!check(xnn_reshape_batch_matrix_multiply_nc_f32(op_, c.batch_rank, c.batch_a, c.batch_b, c.rows, c.depth,
                                                            c.columns, &bytes,
                                                            AIDGE_XNN_WORKSPACE_ALIGNMENT(&alignment)
                                                            /*threadpool=*/nullptr),
                   "reshape", {c.rows, c.depth, c.columns})) {
            return false;
        }
        ready_ = allocate_workspace(bytes);
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
        return check(xnn_setup_batch_matrix_multiply_nc_f32(op_, workspace_, a, b, output), "setup",
                     {config_.rows, config_.depth, config_.columns});
    }

    bool run(const float* a, const float* b, float* output) {
        return bind(a, b, output) && run_bound({config_.rows, config_.depth, config_.columns});
    }

    /// The same with the constant right side.
    bool bind(const float* a, float* output) { return bind(a, config_.constant_b, output); }
    bool run(const float* a, float* output) { return run(a, config_.constant_b, output); }

private:
    MatMulConfig config_;
    const float* a_ = nullptr;
    const float* b_ = nullptr;
    float* output_ = nullptr;
};

}  // namespace export_xnnpack
