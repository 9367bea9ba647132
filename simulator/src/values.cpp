// SPDX-License-Identifier: EPL-2.0
#include "values.hpp"

#include "xmedia_cl_common.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

namespace xmedia_sim {
namespace {

constexpr std::uint64_t largest_elements = std::uint64_t{1} << 25;

float half_to_float(std::uint16_t half) {
    const int exponent = (half >> 10) & 31;
    const auto fraction = static_cast<float>(half & 1023);
    float magnitude = 0;
    if (exponent == 31) {
        magnitude = fraction == 0 ? std::numeric_limits<float>::infinity() : std::numeric_limits<float>::quiet_NaN();
    } else if (exponent == 0) {
        magnitude = std::ldexp(fraction, -24);
    } else {
        magnitude = std::ldexp(fraction + 1024, exponent - 25);
    }
    return (half & 0x8000) != 0 ? -magnitude : magnitude;
}

std::uint16_t float_to_half(float value) {
    const std::uint16_t sign = std::signbit(value) ? 0x8000 : 0;
    const float magnitude = std::fabs(value);
    std::uint32_t bits = 0;
    if (std::isnan(value)) {
        bits = 0x7E00;
    } else if (magnitude >= 65520) {  // halfway to what would be 2^16
        bits = 0x7C00;
    } else if (magnitude < std::ldexp(1.0F, -14)) {
        bits = static_cast<std::uint32_t>(std::nearbyint(std::ldexp(magnitude, 24)));
    } else {
        int exponent = 0;
        const float fraction = std::frexp(magnitude, &exponent);  // 0.5 to 1
        // A fraction that rounds up to the next power of two carries into the exponent by itself.
        bits = static_cast<std::uint32_t>((exponent + 13) * 1024) +
               static_cast<std::uint32_t>(std::nearbyint(std::ldexp(fraction, 11)));
    }
    return static_cast<std::uint16_t>(sign | bits);
}

template <typename T>
float load(const std::uint8_t* at) {
    T value;
    std::memcpy(&value, at, sizeof value);
    return static_cast<float>(value);
}

template <typename T>
void save(double rounded, std::uint8_t* at) {
    const double lowest = std::numeric_limits<T>::lowest();
    const double highest = std::numeric_limits<T>::max();
    const auto value = static_cast<T>(std::min(std::max(rounded, lowest), highest));
    std::memcpy(at, &value, sizeof value);
}

}  // namespace

std::uint32_t element_bytes(std::int32_t type) {
    switch (type) {
        case XMEDIA_CL_INT8:
        case XMEDIA_CL_UINT8: return 1;
        case XMEDIA_CL_INT16:
        case XMEDIA_CL_UINT16:
        case XMEDIA_CL_FP16: return 2;
        case XMEDIA_CL_INT32:
        case XMEDIA_CL_FP32: return 4;
        default: return 0;
    }
}

std::vector<std::uint32_t> element_offsets(const Tensor& tensor) {
    const std::uint32_t bytes = element_bytes(tensor.type);
    if (bytes == 0 || tensor.ndims > tensor.dims.size()) {
        return {};
    }
    std::uint64_t count = 1;
    std::uint64_t end = bytes;
    for (std::uint32_t dim = 0; dim < tensor.ndims; ++dim) {
        const std::uint64_t length = tensor.dims[dim];
        if (length == 0 || length > largest_elements || count * length > largest_elements) {
            return {};
        }
        count *= length;
        end += (length - 1) * tensor.pitches[dim];
        if (end > tensor.size) {
            return {};
        }
    }
    // Elements that overlap have no place of their own.
    if (end > tensor.size || count * bytes > tensor.size) {
        return {};
    }
    std::vector<std::uint32_t> offsets{0};
    offsets.reserve(static_cast<std::size_t>(count));
    // From the innermost dimension outwards, each repeats what is there.
    std::vector<std::uint32_t> inner;
    for (std::uint32_t dim = tensor.ndims; dim-- > 0;) {
        inner = offsets;
        for (std::uint32_t index = 1; index < tensor.dims[dim]; ++index) {
            for (const std::uint32_t offset : inner) {
                offsets.push_back(offset + index * tensor.pitches[dim]);
            }
        }
    }
    return offsets;
}

float real_value(const Tensor& tensor, const std::uint8_t* at) {
    const auto zero = static_cast<float>(tensor.zero_point);
    float stored = 0;
    switch (tensor.type) {
        case XMEDIA_CL_INT8: stored = load<std::int8_t>(at); break;
        case XMEDIA_CL_UINT8: stored = load<std::uint8_t>(at); break;
        case XMEDIA_CL_INT16: stored = load<std::int16_t>(at); break;
        case XMEDIA_CL_UINT16: stored = load<std::uint16_t>(at); break;
        case XMEDIA_CL_INT32: stored = load<std::int32_t>(at); break;
        case XMEDIA_CL_FP32: stored = load<float>(at); break;
        case XMEDIA_CL_FP16: {
            std::uint16_t half = 0;
            std::memcpy(&half, at, sizeof half);
            stored = half_to_float(half);
            break;
        }
        default: break;
    }
    return (stored - zero) * tensor.scale;
}

void store_value(const Tensor& tensor, float real, std::uint8_t* at) {
    const float scaled = real / tensor.scale;
    // Not a number has no place in integers: the zero point is the least wrong.
    const double rounded = (std::isnan(scaled) ? 0.0 : double{std::nearbyint(scaled)}) + tensor.zero_point;
    const float exact = scaled + static_cast<float>(tensor.zero_point);
    switch (tensor.type) {
        case XMEDIA_CL_INT8: save<std::int8_t>(rounded, at); break;
        case XMEDIA_CL_UINT8: save<std::uint8_t>(rounded, at); break;
        case XMEDIA_CL_INT16: save<std::int16_t>(rounded, at); break;
        case XMEDIA_CL_UINT16: save<std::uint16_t>(rounded, at); break;
        case XMEDIA_CL_INT32: save<std::int32_t>(rounded, at); break;
        case XMEDIA_CL_FP32: std::memcpy(at, &exact, sizeof exact); break;
        case XMEDIA_CL_FP16: {
            const std::uint16_t half = float_to_half(exact);
            std::memcpy(at, &half, sizeof half);
            break;
        }
        default: break;
    }
}

}  // namespace xmedia_sim
