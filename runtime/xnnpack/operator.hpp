// SPDX-License-Identifier: EPL-2.0
// What all layers share: one XNNPACK operator, its workspace, and the pointers it is bound to.
#pragma once

#include <cstddef>
#include <cstdlib>

#include "xnnpack/failure.hpp"
#include "xnnpack/version.hpp"
#include "xnnpack/weights.hpp"

namespace export_xnnpack {

/// Height and width.
struct Size2 {
    std::size_t height;
    std::size_t width;
};

/// A batch of images, channels last.
struct Nhwc {
    std::size_t batch;
    std::size_t height;
    std::size_t width;
    std::size_t channels;
};

/// Rows of neighbouring values: the shape that element-wise and row-wise operators see.
struct Rows {
    std::size_t rows;
    std::size_t channels;
};

struct Padding {
    std::size_t top;
    std::size_t left;
    std::size_t bottom;
    std::size_t right;
};

/// Bounds of a fused activation; infinite when there is none.
struct Activation {
    float min;
    float max;
};

/// Starts XNNPACK. May be called any number of times.
inline bool start() {
    const xnn_status status = xnn_initialize(nullptr);
    return status == xnn_status_success || fail("(all)", "XNNPACK", "initialize", status, {});
}

/// Owns one XNNPACK operator. Layers are namespace-scope objects: constructing one does nothing but remember its
/// configuration, all work is done by init() and bind().
class Operator {
public:
    Operator(const Operator&) = delete;
    Operator& operator=(const Operator&) = delete;

protected:
    constexpr Operator(const char* layer, const char* type) : layer_(layer), type_(type) {}
    ~Operator() {
        release();
        std::free(workspace_);
    }

    /// Reports a status that is not success. Before the layer is ready that also undoes what init() has done so far,
    /// so that init() may be called again.
    bool check(xnn_status status, const char* step, std::initializer_list<std::size_t> dims) {
        if (status == xnn_status_success) {
            return true;
        }
        if (!ready_) {
            release();
        }
        return fail(layer_, type_, step, status, dims);
    }

    /// Allocates what reshape asked for, once.
    bool allocate_workspace(std::size_t bytes) {
        if (bytes == 0 || workspace_ != nullptr) {
            return true;
        }
        constexpr std::size_t alignment = 64;
        workspace_ = std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
        return workspace_ != nullptr || fail(layer_, type_, "workspace", xnn_status_out_of_memory, {bytes});
    }

    /// Runs the operator on the pointers it was last set up with.
    bool run_bound(std::initializer_list<std::size_t> dims) {
        return check(xnn_run_operator(op_, /*threadpool=*/nullptr), "run", dims);
    }

    void release() {
        if (op_ != nullptr) {
            xnn_delete_operator(op_);
            op_ = nullptr;
        }
    }

    const char* layer_;
    const char* type_;
    xnn_operator_t op_ = nullptr;
    void* workspace_ = nullptr;
    bool ready_ = false;
};

}  // namespace export_xnnpack
