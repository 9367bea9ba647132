// SPDX-License-Identifier: EPL-2.0
// A tensor of the NPU as rows: as many values as lie side by side there, with gaps between the rows.
#pragma once

#include <cstddef>
#include <cstdint>

#include "xmedia/tensor_spec.hpp"

namespace export_xmedia {

class Rows {
public:
    /// \param apart Leading axes that a row must not run across, whatever the pitches are.
    explicit Rows(const TensorSpec& spec, std::size_t apart = 0) : spec_(spec), outer_(spec.rank) {
        const std::size_t bytes = element_bytes(spec.type);
        while (outer_ > apart && (spec.dims[outer_ - 1] == 1 || spec.pitches[outer_ - 1] == length_ * bytes)) {
            --outer_;
            length_ *= spec.dims[outer_];
        }
    }

    std::size_t length() const { return length_; }  ///< values in a row
    std::size_t outer() const { return outer_; }    ///< axes that are walked from row to row

    /// Calls visit(first value in the dense order, byte offset on the device, indices of the outer axes) for each row.
    template <typename Visit>
    void each(Visit visit) const {
        if (elements(spec_) == 0) {
            return;
        }
        std::uint32_t index[max_rank] = {};
        std::size_t bytes = 0;
        for (std::size_t dense = 0;; dense += length_) {
            visit(dense, bytes, index);
            std::size_t axis = outer_;
            for (; axis > 0; --axis) {
                const std::size_t i = axis - 1;
                bytes += spec_.pitches[i];
                if (++index[i] < spec_.dims[i]) {
                    break;
                }
                bytes -= std::size_t{spec_.pitches[i]} * spec_.dims[i];
                index[i] = 0;
            }
            if (axis == 0) {
                return;
            }
        }
    }

private:
    const TensorSpec& spec_;
    std::size_t outer_;
    std::size_t length_ = 1;
};

}  // namespace export_xmedia
