// SPDX-License-Identifier: EPL-2.0
// What max and average pooling share: the sliding window, and a plain loop for the windows that XNNPACK refuses
// (its versions differ in that) or that it gets wrong.
#pragma once

#include <algorithm>
#include <cstdint>

#include "xnnpack/operator.hpp"

namespace export_xnnpack {

struct PoolingConfig {
    const char* layer;
    Nhwc input;
    Nhwc output;
    Size2 kernel;
    Size2 stride;
    Size2 dilation;
    Padding padding;  ///< never part of a maximum, never counted in an average
    Activation activation;
    std::size_t input_stride;   ///< elements from one input pixel to the next
    std::size_t output_stride;  ///< elements from one output pixel to the next
};

namespace pooling {

/// One axis of the window: tap `k` of output `o` lies at `o * stride + k * dilation - before`.
struct Axis {
    std::size_t input;
    std::size_t output;
    std::size_t kernel;
    std::size_t stride;
    std::size_t dilation;
    std::size_t before;

    /// Where the tap lies; before the image, that has wrapped around to something huge.
    constexpr std::size_t position(std::size_t o, std::size_t k) const { return o * stride + k * dilation - before; }

    constexpr bool inside(std::size_t o, std::size_t k) const { return position(o, k) < input; }

    constexpr std::size_t taps_inside(std::size_t o) const {
        std::size_t count = 0;
        for (std::size_t k = 0; k < kernel; ++k) {
            count += inside(o, k) ? 1U : 0U;
        }
        return count;
    }
};

constexpr Axis vertical(const PoolingConfig& c) {
    return {c.input.height, c.output.height, c.kernel.height, c.stride.height, c.dilation.height, c.padding.top};
}

constexpr Axis horizontal(const PoolingConfig& c) {
    return {c.input.width, c.output.width, c.kernel.width, c.stride.width, c.dilation.width, c.padding.left};
}

/// Whether every window of the axis touches the image.
constexpr bool touches_image(const Axis& axis) {
    for (std::size_t o = 0; o < axis.output; ++o) {
        if (axis.taps_inside(o) == 0) {
            return false;
        }
    }
    return true;
}

/// Slides the window over the images. \p reduce provides
/// `first(out, pixel, channels)`, `next(out, pixel, channels)` and `last(out, count, channels)`.
template <class Reduce>
void slide(const PoolingConfig& c, const float* input, float* output, const Reduce& reduce) {
    const Axis rows = vertical(c);
    const Axis columns = horizontal(c);
    const std::size_t image = c.input.height * c.input.width * c.input_stride;
    for (std::size_t n = 0; n < c.input.batch; ++n, input += image) {
        for (std::size_t oy = 0; oy < rows.output; ++oy) {
            for (std::size_t ox = 0; ox < columns.output; ++ox, output += c.output_stride) {
                std::size_t count = 0;
                for (std::size_t ky = 0; ky < rows.kernel; ++ky) {
                    for (std::size_t kx = 0; kx < columns.kernel; ++kx) {
                        if (!rows.inside(oy, ky) || !columns.inside(ox, kx)) {
                            continue;
                        }
                        const float* const pixel =
                            input + (rows.position(oy, ky) * c.input.width + columns.position(ox, kx)) * c.input_stride;
                        if (count++ == 0) {
                            reduce.first(output, pixel, c.input.channels);
                        } else {
                            reduce.next(output, pixel, c.input.channels);
                        }
                    }
                }
                reduce.last(output, count, c.input.channels);
            }
        }
    }
}

constexpr float clamp(float value, const Activation& bounds) {
    return std::min(std::max(value, bounds.min), bounds.max);
}

constexpr std::uint32_t u32(std::size_t value) {
    return static_cast<std::uint32_t>(value);
}

}  // namespace pooling

}  // namespace export_xnnpack
