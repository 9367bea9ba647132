// SPDX-License-Identifier: EPL-2.0
// What the tests of the XNNPACK contexts share: pixels with gaps between them, and a comparison.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <vector>

namespace kernel_check {

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr float untouched = -777.0F;

/// Rows of values that lie `stride` elements apart. What lies between them must neither count nor change.
struct Pixels {
    std::size_t count;
    std::size_t channels;
    std::size_t stride;
    std::vector<float> data;

    float& at(std::size_t pixel, std::size_t channel) { return data[pixel * stride + channel]; }
    float at(std::size_t pixel, std::size_t channel) const { return data[pixel * stride + channel]; }
};

/// XNNPACK may read this many elements past the end.
constexpr std::size_t tail = 128 / sizeof(float);

inline Pixels output(std::size_t count, std::size_t channels, std::size_t stride) {
    return {count, channels, stride, std::vector<float>(count * stride + tail, untouched)};
}

/// Pseudo-random values in [-1, 1), not a number in the gaps.
inline Pixels input(std::size_t count, std::size_t channels, std::size_t stride, std::uint32_t seed = 1) {
    Pixels pixels{count, channels, stride,
                  std::vector<float>(count * stride + tail, std::numeric_limits<float>::quiet_NaN())};
    std::uint32_t state = seed * 2654435761U + 12345U;
    for (std::size_t p = 0; p < count; ++p) {
        for (std::size_t c = 0; c < channels; ++c) {
            state = state * 1664525U + 1013904223U;
            pixels.at(p, c) = static_cast<float>(state >> 8U) / 8388608.0F - 1.0F;
        }
    }
    return pixels;
}

inline std::vector<float> values(std::size_t size, std::uint32_t seed) {
    return input(1, size, size, seed).data;
}

/// Compares results; \p written is how many elements of every pixel may have been written.
inline bool same(const char* what, const Pixels& got, const Pixels& want, std::size_t written) {
    for (std::size_t p = 0; p < want.count; ++p) {
        for (std::size_t c = 0; c < want.channels; ++c) {
            const float difference = std::fabs(got.at(p, c) - want.at(p, c));
            const bool equal = got.at(p, c) == want.at(p, c) || difference <= 1e-5F * (1 + std::fabs(want.at(p, c)));
            if (!equal) {
                std::printf("%s: pixel %zu channel %zu is %g, not %g\n", what, p, c, static_cast<double>(got.at(p, c)),
                            static_cast<double>(want.at(p, c)));
                return false;
            }
        }
        for (std::size_t c = written; c < got.stride; ++c) {
            if (got.at(p, c) != untouched) {
                std::printf("%s: pixel %zu was written past its %zu channels\n", what, p, written);
                return false;
            }
        }
    }
    return true;
}

inline bool same(const char* what, const Pixels& got, const Pixels& want) {
    return same(what, got, want, want.channels);
}

inline float clamped(float value, float min, float max) {
    return std::fmin(std::fmax(value, min), max);
}

}  // namespace kernel_check
