// SPDX-License-Identifier: EPL-2.0
// IEEE half precision, without a type for it where the compiler has none. Rounds half to even; no branches, so that
// loops over it vectorise.
#pragma once

#include <cstdint>
#include <cstring>

namespace export_xmedia {

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

/// No branch, whatever the compiler thinks: it would not vectorise loops over it.
inline std::uint32_t select(bool condition, std::uint32_t yes, std::uint32_t no) {
    const std::uint32_t mask = 0U - static_cast<std::uint32_t>(condition);
    return (yes & mask) | (no & ~mask);
}

// 32-bit ARM has the type only with -mfp16-format=ieee; bit 1 of __ARM_FP says that the processor converts.
#if defined(__ARM_FP16_FORMAT_IEEE) && defined(__ARM_FP) && (__ARM_FP & 2)

inline std::uint16_t to_half(float value) {
    const __fp16 half = static_cast<__fp16>(value);
    std::uint16_t bits = 0;
    std::memcpy(&bits, &half, sizeof bits);
    return bits;
}

inline float from_half(std::uint16_t bits) {
    __fp16 half = 0;
    std::memcpy(&half, &bits, sizeof bits);
    return static_cast<float>(half);
}

#else

inline std::uint16_t to_half(float value) {
    constexpr std::uint32_t infinity = 0x7F800000U;
    constexpr std::uint32_t too_large = 0x47800000U;      // 65536
    constexpr std::uint32_t too_small = 0x38800000U;      // 2^-14: below it halves are denormal
    constexpr std::uint32_t rebias = 0xC8000000U;         // (15 - 127) << 23
    constexpr std::uint32_t denormal_unit = 0x3F000000U;  // 0.5: its last bit is worth 2^-24, as a denormal half's
    const std::uint32_t bits = bits_of(value);
    const std::uint32_t magnitude = bits & 0x7FFFFFFFU;
    const std::uint32_t normal = (magnitude + rebias + 0xFFFU + ((magnitude >> 13U) & 1U)) >> 13U;
    // A number that large would not be exact here, but is not taken from here.
    const std::uint32_t small = select(magnitude < too_small, magnitude, 0);
    const std::uint32_t denormal = bits_of(float_of(small) + float_of(denormal_unit)) - denormal_unit;
    const std::uint32_t special = select(magnitude > infinity, 0x7E00U, 0x7C00U);
    const std::uint32_t finite = select(magnitude < too_small, denormal, normal);
    return static_cast<std::uint16_t>(select(magnitude < too_large, finite, special) | ((bits >> 16U) & 0x8000U));
}

inline float from_half(std::uint16_t half) {
    constexpr std::uint32_t exponent = 0x0F800000U;
    constexpr std::uint32_t rebias = 0x38000000U;  // (127 - 15) << 23
    const std::uint32_t sign = (half & 0x8000U) << 16U;
    const std::uint32_t shifted = (half & 0x7FFFU) << 13U;
    const bool special = (shifted & exponent) == exponent;
    const std::uint32_t normal = shifted + rebias + select(special, rebias, 0);
    // With the smallest normal exponent put in, the difference to that number is the denormal's value.
    const std::uint32_t smallest = rebias + (1U << 23U);
    const std::uint32_t denormal = bits_of(float_of(shifted + smallest) - float_of(smallest));
    return float_of(select((shifted & exponent) == 0, denormal, normal) | sign);
}

#endif

}  // namespace export_xmedia
