// SPDX-License-Identifier: EPL-2.0
// Functions that XNNPACK lacks, or computes less exactly than float allows. Exponential and logarithm are within 1e-7
// of the true value, relatively. They are free of branches, so that compilers turn the loop over them into vector code.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>

namespace export_xnnpack {
namespace elementwise {

inline std::uint32_t bits_of(float value) {
    std::uint32_t bits = 0;
    std::memcpy(&bits, &value, sizeof bits);
    return bits;
}

inline float float_of(std::uint32_t bits) {
    float value = 0.0F;
    std::memcpy(&value, &bits, sizeof value);
    return value;
}

// ln 2 in two parts: the first has so few bits that its product with an exponent is exact.
constexpr float ln2_high = 0x1.62E4p-1F;
constexpr float ln2_low = 0x1.7F7D1Cp-20F;

/// One of two values. Masks rather than a condition: GCC does not vectorise what might skip a floating-point operation.
inline float choose(bool first, float a, float b) {
    const std::uint32_t mask = 0U - static_cast<std::uint32_t>(first);
    return float_of((bits_of(a) & mask) | (bits_of(b) & ~mask));
}

/// e^x. 0 and infinity where float ends, NaN for NaN.
inline float exponential(float x) {
    constexpr std::uint32_t sign = 0x80000000U;
    constexpr std::uint32_t infinity = 0x7F800000U;
    // Beyond +-104 the result is 0 or infinity anyway, and the exponent below would not fit. 0x42D00000 is 104.
    const std::uint32_t magnitude = bits_of(x) & ~sign;
    const float z = float_of((magnitude < 0x42D00000U ? magnitude : 0x42D00000U) | (bits_of(x) & sign));
    // z = n ln 2 + r with |r| <= ln 2 / 2. Adding the large constant rounds to an integer, in the lowest bits.
    constexpr float rounder = 0x1.8p23F;
    const float shifted = z * 0x1.715476p0F + rounder;
    const float n = shifted - rounder;
    const float r = (z - n * ln2_high) - n * ln2_low;
    const float tail = 0.49999994F + r * (0.1666652F + r * (0.041668408F + r * (0.0083689215F + r * 0.0013814174F)));
    const float p = 1.0F + (r + r * r * tail);
    // 2^n in two factors, since n may be beyond the exponents that a float has. 0x4B400000 is the rounder.
    const std::uint32_t exponent = bits_of(shifted) - 0x4B400000U + 256U;
    const std::uint32_t half = exponent / 2U;
    const float value = p * float_of((half - 1U) << 23) * float_of((exponent - half - 1U) << 23);
    return choose(magnitude > infinity, x, value);
}

/// Natural logarithm. -infinity for 0, NaN below.
inline float logarithm(float x) {
    constexpr std::uint32_t normal = 0x00800000U;
    constexpr std::uint32_t infinity = 0x7F800000U;
    constexpr std::uint32_t minus_zero = 0x80000000U;
    constexpr std::uint32_t root_half = 0x3F3504F3U;
    // Subnormal numbers are made normal first.
    const std::uint32_t bits = bits_of(x);
    const bool tiny = bits < normal;
    const std::uint32_t z = bits_of(choose(tiny, x * 0x1p23F, x));
    // z = 2^n m with m between sqrt(1/2) and sqrt(2).
    const std::uint32_t exponent = (z - root_half + (256U << 23)) >> 23;
    const float m = float_of(z - ((exponent - 256U) << 23));
    const float n = static_cast<float>(static_cast<std::int32_t>(exponent) - (tiny ? 279 : 256));
    const float f = m - 1.0F;
    const float head = 0.14201757F + f * (-0.13160183F + f * (0.12761576F + f * -0.07634497F));
    const float tail = 0.3333333F + f * (-0.2500082F + f * (0.20001227F + f * (-0.16623357F + f * head)));
    const float square = f * f;
    const float value = n * ln2_high + (f + (n * ln2_low + (square * f * tail - 0.5F * square)));
    // NaN and infinity are their own logarithm.
    const bool zero = bits == 0U || bits == minus_zero;
    const float at_zero = choose(zero, -std::numeric_limits<float>::infinity(), x);
    const float special = choose(bits > minus_zero, std::numeric_limits<float>::quiet_NaN(), at_zero);
    return choose(bits - 1U < infinity - 1U, value, special);
}

/// log(1 + e^x), exact at both ends: it neither overflows nor loses small results.
inline float softplus(float x) {
    const float u = exponential(-std::fabs(x));
    const float w = 1.0F + u;
    // What rounding took from w is given back, so that a tiny u is not lost.
    const float log1p = logarithm(w) + (u - (w - 1.0F)) / w;
    return choose(bits_of(x) >> 31 == 0U, x, 0.0F) + log1p;
}

/// GELU by its usual approximation with a hyperbolic tangent.
inline float approximate_gelu(float x) {
    // 0.5 (1 + tanh(u)) = 1 / (1 + e^-2u); the factors are sqrt(2 / pi) times 2, and times 2 * 0.044715.
    return x / (1.0F + exponential(x * (-1.5957691F - 0.07135482F * (x * x))));
}

inline float error_function(float x) {
    return std::erf(x);
}

/// Applies a function to `count` values. Input and output may be the same.
template <float (*function)(float)>
void apply(const float* input, float* output, std::size_t count) {
    // A block of its own lets the compiler see that input and output do not overlap.
    constexpr std::size_t block = 64;
    float values[block] = {};
    for (; count >= block; count -= block, input += block, output += block) {
        std::memcpy(values, input, sizeof values);
        for (float& value : values) {
            value = function(value);
        }
        std::memcpy(output, values, sizeof values);
    }
    for (; count > 0; --count) {
        *output++ = function(*input++);
    }
}

}  // namespace elementwise
}  // namespace export_xnnpack
