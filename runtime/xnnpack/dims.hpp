// SPDX-License-Identifier: EPL-2.0
// Tensors of up to six axes, and the loop over their rows.
#pragma once

#include <array>
#include <cstddef>

namespace export_xnnpack {

/// As many axes as XNNPACK's operators take.
constexpr std::size_t max_rank = 6;

/// Sizes (or anything else that each axis has one of), outermost first. Lower ranks have leading axes of size 1.
using Dims = std::array<std::size_t, max_rank>;

/// Elements from one position of an axis to the next, in a dense tensor.
constexpr Dims dense_strides(const Dims& dims) {
    Dims strides{};
    std::size_t stride = 1;
    for (std::size_t axis = max_rank; axis-- > 0;) {
        strides[axis] = stride;
        stride *= dims[axis];
    }
    return strides;
}

/// Calls `visit(position)` for every row, in the order of memory. A row runs along the last axis, so the last component
/// of the position is always 0.
template <typename Visit>
void for_each_row(const Dims& dims, Visit visit) {
    std::size_t rows = 1;
    for (std::size_t axis = 0; axis < max_rank - 1; ++axis) {
        rows *= dims[axis];
    }
    Dims position{};
    for (; rows > 0; --rows) {
        visit(position);
        // Counts like an odometer.
        for (std::size_t axis = max_rank - 1; axis > 0; --axis) {
            if (++position[axis - 1] < dims[axis - 1]) {
                break;
            }
            position[axis - 1] = 0;
        }
    }
}

}  // namespace export_xnnpack
