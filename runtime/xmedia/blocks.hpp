// SPDX-License-Identifier: EPL-2.0
// Conversions of 32 values between float and a tensor's type. NEON by intrinsics: for 32-bit ARM compilers vectorise
// no float arithmetic themselves, as its denormals are zeros. Elsewhere loops of known length, which they vectorise.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>

#include "xmedia/half.hpp"

#if defined(__ARM_NEON)
#include <arm_neon.h>
#endif

// Rounding adds a large number and takes it away again; that NaN is not equal to itself counts as well.
#if defined(__FAST_MATH__)
#error "quantisation needs IEEE arithmetic: compile without -ffast-math"
#endif

namespace export_xmedia {

/// More than the 16 turns of a loop that gcc unrolls before it looks whether it could be vectorised.
constexpr std::size_t block = 32;

/// 1.5 * 2^23: added to |t| < 2^22 it rounds t half to even, and the sum's low bits are the integer.
constexpr float rounder = 12582912.0F;
constexpr std::int32_t rounder_bits = 0x4B400000;
/// The same for double: |t| < 2^51.
constexpr double wide_rounder = 6755399441055744.0;

/// Zero points up to this size leave room for rounding in float with types of up to 16 bits.
constexpr std::int32_t small_zero_point = 1 << 21;

constexpr bool near_zero(std::int32_t zero_point) {
    return zero_point >= -small_zero_point && zero_point <= small_zero_point;
}

/// The grid of a tensor's type: t = real / scale, between low and high, is stored as round(t) + zero_point.
struct Grid {
    float low;
    float high;
    std::int32_t zero_point;
};

template <typename T>
constexpr Grid grid_of(std::int32_t zero_point) {
    return {static_cast<float>(std::int64_t{std::numeric_limits<T>::min()} - zero_point),
            static_cast<float>(std::int64_t{std::numeric_limits<T>::max()} - zero_point), zero_point};
}

/// t = x * a + b with the same a and b for all values.
struct Uniform {
    float a;
    float b;
    float scale(std::size_t) const { return a; }
    float offset(std::size_t) const { return b; }
#if defined(__ARM_NEON)
    float32x4_t apply(const float* x, std::size_t) const {
        return vaddq_f32(vmulq_f32(vld1q_f32(x), vdupq_n_f32(a)), vdupq_n_f32(b));
    }
#endif
};

/// t = x * a[i] + b[i]
struct PerValue {
    const float* a;
    const float* b;
    float scale(std::size_t i) const { return a[i]; }
    float offset(std::size_t i) const { return b[i]; }
#if defined(__ARM_NEON)
    float32x4_t apply(const float* x, std::size_t i) const {
        return vaddq_f32(vmulq_f32(vld1q_f32(x), vld1q_f32(a + i)), vld1q_f32(b + i));
    }
#endif
};

#if defined(__ARM_NEON)

/// Four values on the grid; only the low bits count where the type is narrower. Inlined with -Os as well.
[[gnu::always_inline]] inline int32x4_t to_grid(float32x4_t t, const Grid& grid) {
    const uint32x4_t number = vceqq_f32(t, t);
    t = vreinterpretq_f32_u32(vandq_u32(number, vreinterpretq_u32_f32(t)));  // what is no number becomes the zero point
    t = vminq_f32(vmaxq_f32(t, vdupq_n_f32(grid.low)), vdupq_n_f32(grid.high));
    const int32x4_t rounded = vreinterpretq_s32_f32(vaddq_f32(t, vdupq_n_f32(rounder)));
    return vsubq_s32(rounded, vdupq_n_s32(rounder_bits - grid.zero_point));
}

template <typename T, typename Coefficients>
void quantise_block(const float* x, T* q, const Coefficients& c, const Grid& grid) {
    for (std::size_t i = 0; i < block; i += 16) {
        const int16x8_t low = vcombine_s16(vmovn_s32(to_grid(c.apply(x + i, i), grid)),
                                           vmovn_s32(to_grid(c.apply(x + i + 4, i + 4), grid)));
        const int16x8_t high = vcombine_s16(vmovn_s32(to_grid(c.apply(x + i + 8, i + 8), grid)),
                                            vmovn_s32(to_grid(c.apply(x + i + 12, i + 12), grid)));
        if constexpr (sizeof(T) == 1) {
            const int8x16_t bytes = vcombine_s8(vmovn_s16(low), vmovn_s16(high));
            vst1q_u8(reinterpret_cast<std::uint8_t*>(q + i), vreinterpretq_u8_s8(bytes));
        } else {
            vst1q_u16(reinterpret_cast<std::uint16_t*>(q + i), vreinterpretq_u16_s16(low));
            vst1q_u16(reinterpret_cast<std::uint16_t*>(q + i + 8), vreinterpretq_u16_s16(high));
        }
    }
}

inline int16x8_t widened(const std::int8_t* q) {
    return vmovl_s8(vld1_s8(q));
}
inline int16x8_t widened(const std::uint8_t* q) {
    return vreinterpretq_s16_u16(vmovl_u8(vld1_u8(q)));
}
inline int16x8_t widened(const std::int16_t* q) {
    return vld1q_s16(q);
}
inline uint16x8_t widened(const std::uint16_t* q) {
    return vld1q_u16(q);
}
inline int32x4_t widened(int16x4_t q) {
    return vmovl_s16(q);
}
inline int32x4_t widened(uint16x4_t q) {
    return vreinterpretq_s32_u32(vmovl_u16(q));
}
inline int16x4_t lower(int16x8_t q) {
    return vget_low_s16(q);
}
inline int16x4_t upper(int16x8_t q) {
    return vget_high_s16(q);
}
inline uint16x4_t lower(uint16x8_t q) {
    return vget_low_u16(q);
}
inline uint16x4_t upper(uint16x8_t q) {
    return vget_high_u16(q);
}

template <typename T>
void dequantise_block(const T* __restrict q, float* __restrict x, float scale, std::int32_t zero_point) {
    const int32x4_t zero = vdupq_n_s32(zero_point);
    const float32x4_t factor = vdupq_n_f32(scale);
    for (std::size_t i = 0; i < block; i += 8) {
        const auto eight = widened(q + i);
        vst1q_f32(x + i, vmulq_f32(vcvtq_f32_s32(vsubq_s32(widened(lower(eight)), zero)), factor));
        vst1q_f32(x + i + 4, vmulq_f32(vcvtq_f32_s32(vsubq_s32(widened(upper(eight)), zero)), factor));
    }
}

#else

template <typename T, typename Coefficients>
void quantise_block(const float* x, T* q, const Coefficients& c, const Grid& grid) {
    T stored[block];
    for (std::size_t i = 0; i < block; ++i) {
        float t = x[i] * c.scale(i) + c.offset(i);
        t = t == t ? t : 0.0F;  // what is no number becomes the zero point
        t = t > grid.low ? t : grid.low;
        t = t < grid.high ? t : grid.high;
        const std::uint32_t rounded = bits_of(t + rounder) - static_cast<std::uint32_t>(rounder_bits);
        stored[i] = static_cast<T>(rounded + static_cast<std::uint32_t>(grid.zero_point));
    }
    std::memcpy(q, stored, sizeof stored);
}

// Not inlined: gcc -O3 makes five times slower code of it there.
template <typename T>
[[gnu::noinline]] void dequantise_block(const T* __restrict q, float* __restrict x, float scale,
                                        std::int32_t zero_point) {
    for (std::size_t i = 0; i < block; ++i) {
        x[i] = static_cast<float>(static_cast<std::int32_t>(q[i]) - zero_point) * scale;
    }
}

#endif

/// What needs more digits than float has: 32 bits, or a zero point far from the type's range.
template <typename T, typename Coefficients>
void quantise_wide(const float* x, T* q, const Coefficients& c, std::int32_t zero_point) {
    const double low = static_cast<double>(std::int64_t{std::numeric_limits<T>::min()} - zero_point);
    const double high = static_cast<double>(std::int64_t{std::numeric_limits<T>::max()} - zero_point);
    T stored[block];
    for (std::size_t i = 0; i < block; ++i) {
        double t = static_cast<double>(x[i] * c.scale(i) + c.offset(i));
        t = t == t ? t : 0.0;
        t = t > low ? t : low;
        t = t < high ? t : high;
        t += wide_rounder;
        std::uint64_t rounded = 0;
        std::memcpy(&rounded, &t, sizeof rounded);
        stored[i] = static_cast<T>(static_cast<std::uint32_t>(rounded) + static_cast<std::uint32_t>(zero_point));
    }
    std::memcpy(q, stored, sizeof stored);
}

template <typename T>
void dequantise_wide(const T* __restrict q, float* __restrict x, float scale, std::int32_t zero_point) {
    for (std::size_t i = 0; i < block; ++i) {
        x[i] = static_cast<float>(static_cast<std::int64_t>(q[i]) - zero_point) * scale;
    }
}

}  // namespace export_xmedia
