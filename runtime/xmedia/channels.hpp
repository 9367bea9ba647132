// SPDX-License-Identifier: EPL-2.0
// Coefficients and order of channels, applied to chunks of a row.
#pragma once

#include <cstddef>
#include <cstdint>

#include "xmedia/blocks.hpp"
#include "xmedia/tensor_spec.hpp"

namespace export_xmedia {

/// Values that are converted in one go: small enough for the stack, whole blocks.
constexpr std::size_t chunk = 512;

/// Coefficients from the program's values to multiples of a tensor's scale: t = x * a + b.
inline Uniform coefficients(const Preprocessing& pre, std::size_t channel, float scale) {
    const bool given = pre.count != 0;
    const double a = given && pre.a != nullptr ? static_cast<double>(pre.a[channel]) : 1.0;
    const double b = given && pre.b != nullptr ? static_cast<double>(pre.b[channel]) : 0.0;
    return {static_cast<float>(a / static_cast<double>(scale)), static_cast<float>(b / static_cast<double>(scale))};
}

inline bool reordered(const Preprocessing& pre) {
    bool other = false;
    for (std::uint32_t c = 0; pre.order != nullptr && c < pre.count; ++c) {
        other = other || pre.order[c] != c;
    }
    return other;
}

/// The repeating coefficients of channels that lie side by side.
class Tile {
public:
    Tile(const Preprocessing& pre, float scale) : pre_(pre), scale_(scale), length_(period(pre.count)) {
        if (cyclic()) {
            fill(0);
        }
    }

    /// Values to convert in one go.
    std::size_t length() const { return cyclic() ? length_ : chunk; }

    /// Coefficients of the values from channel `phase` on.
    PerValue from(std::size_t phase) {
        if (!cyclic() || phase != phase_) {
            fill(phase);
        }
        return {a_, b_};
    }

private:
    /// As many whole pixels as fit and are whole blocks, 0 when none are.
    static std::size_t period(std::size_t channels) {
        const std::size_t step = channels * block;
        return step <= chunk ? chunk / step * step : 0;
    }

    bool cyclic() const { return length_ != 0; }

    void fill(std::size_t phase) {
        phase_ = phase;
        for (std::size_t i = 0, c = phase; i < length(); ++i, c = c + 1 == pre_.count ? 0 : c + 1) {
            const Uniform one = coefficients(pre_, c, scale_);
            a_[i] = one.a;
            b_[i] = one.b;
        }
    }

    const Preprocessing& pre_;
    float scale_;
    std::size_t length_;
    std::size_t phase_ = 0;
    alignas(16) float a_[chunk];
    alignas(16) float b_[chunk];
};

/// Swaps the first and the last of three channels, for whole pixels.
inline void swap_three(const float* __restrict source, float* __restrict target, std::size_t pixels) {
    for (std::size_t p = 0; p < pixels; ++p) {
        target[3 * p] = source[3 * p + 2];
        target[3 * p + 1] = source[3 * p + 1];
        target[3 * p + 2] = source[3 * p];
    }
}

/// Puts `n` values into the tensor's channel order; the first of them belongs to channel `phase`.
inline void reorder(const Preprocessing& pre, std::size_t phase, const float* source, float* target, std::size_t n) {
    std::size_t i = 0;
    if (phase == 0 && pre.count == 3 && pre.order[0] == 2 && pre.order[1] == 1) {
        swap_three(source, target, n / 3);
        i = n / 3 * 3;
    }
    for (std::size_t c = (phase + i) % pre.count; i < n; ++i, c = c + 1 == pre.count ? 0 : c + 1) {
        // Relative to this value, its source may lie before it: the same pixel starts c values earlier.
        target[i] = *(source + i + pre.order[c] - c);
    }
}

}  // namespace export_xmedia
