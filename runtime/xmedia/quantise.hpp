// SPDX-License-Identifier: EPL-2.0
// Between the program's tensors, dense and float32, and those of the NPU: quantised, with gaps between rows.
// Integers are rounded half to even and saturate, and what is no number becomes the zero point; float types keep it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "xmedia/blocks.hpp"
#include "xmedia/channels.hpp"
#include "xmedia/failure.hpp"
#include "xmedia/rows.hpp"
#include "xmedia/tensor_spec.hpp"

namespace export_xmedia {

/// A half, told apart from a uint16.
struct Half {
    std::uint16_t bits;
};

/// Converts one block into a tensor's type.
template <typename T, typename Coefficients>
void store_block(const float* x, T* q, const Coefficients& c, std::int32_t zero_point) {
    if constexpr (std::is_same_v<T, float>) {
        for (std::size_t i = 0; i < block; ++i) {
            q[i] = x[i] * c.scale(i) + c.offset(i) + static_cast<float>(zero_point);
        }
    } else if constexpr (std::is_same_v<T, Half>) {
        for (std::size_t i = 0; i < block; ++i) {
            q[i].bits = to_half(x[i] * c.scale(i) + c.offset(i) + static_cast<float>(zero_point));
        }
    } else {
        if constexpr (sizeof(T) <= 2) {
            if (near_zero(zero_point)) {
                quantise_block(x, q, c, grid_of<T>(zero_point));
                return;
            }
        }
        quantise_wide(x, q, c, zero_point);
    }
}

template <typename T>
void load_block(const T* q, float* x, float scale, std::int32_t zero_point) {
    if constexpr (std::is_same_v<T, float>) {
        for (std::size_t i = 0; i < block; ++i) {
            x[i] = (q[i] - static_cast<float>(zero_point)) * scale;
        }
    } else if constexpr (std::is_same_v<T, Half>) {
        for (std::size_t i = 0; i < block; ++i) {
            x[i] = (from_half(q[i].bits) - static_cast<float>(zero_point)) * scale;
        }
    } else {
        if constexpr (sizeof(T) <= 2) {
            if (near_zero(zero_point)) {
                dequantise_block(q, x, scale, zero_point);
                return;
            }
        }
        dequantise_wide(q, x, scale, zero_point);
    }
}

/// Converts values that lie side by side; a rest goes through a whole block beside them.
template <typename T, typename Coefficients>
void store_values(const float* x, T* q, std::size_t n, const Coefficients& c, std::int32_t zero_point) {
    float rest[block] = {};
    T stored[block];
    std::size_t i = 0;
    for (; i + block <= n; i += block) {
        if constexpr (std::is_same_v<Coefficients, PerValue>) {
            store_block(x + i, q + i, PerValue{c.a + i, c.b + i}, zero_point);
        } else {
            store_block(x + i, q + i, c, zero_point);
        }
    }
    if (i < n) {
        std::memcpy(rest, x + i, (n - i) * sizeof(float));
        if constexpr (std::is_same_v<Coefficients, PerValue>) {
            store_block(rest, stored, PerValue{c.a + i, c.b + i}, zero_point);
        } else {
            store_block(rest, stored, c, zero_point);
        }
        std::memcpy(q + i, stored, (n - i) * sizeof(T));
    }
}

template <typename T>
void load_values(const T* q, float* x, std::size_t n, float scale, std::int32_t zero_point) {
    float real[block];
    T rest[block] = {};
    std::size_t i = 0;
    for (; i + block <= n; i += block) {
        load_block(q + i, x + i, scale, zero_point);
    }
    if (i < n) {
        std::memcpy(rest, q + i, (n - i) * sizeof(T));
        load_block(rest, real, scale, zero_point);
        std::memcpy(x + i, real, (n - i) * sizeof(float));
    }
}

/// One row of interleaved channels that starts with channel `phase`.
template <typename T>
void store_interleaved(const Preprocessing& pre, Tile& tile, std::size_t phase, const float* x, T* q, std::size_t n,
                       std::int32_t zero_point) {
    const bool other_order = reordered(pre);
    float moved[chunk];
    for (std::size_t i = 0; i < n;) {
        const std::size_t count = n - i < tile.length() ? n - i : tile.length();
        const std::size_t channel = (phase + i) % pre.count;
        if (other_order) {
            reorder(pre, channel, x + i, moved, count);
        }
        store_values(other_order ? moved : x + i, q + i, count, tile.from(channel), zero_point);
        i += count;
    }
}

template <typename T>
void quantise_as(const TensorSpec& spec, const Preprocessing& pre, const float* source, void* target) {
    auto* const bytes = static_cast<unsigned char*>(target);
    const std::int32_t zero = spec.zero_point;
    if (pre.axis == Channels::last && pre.count > 1) {
        const Rows rows(spec);
        Tile tile(pre, spec.scale);
        const bool whole = rows.outer() < spec.rank;
        rows.each([&](std::size_t dense, std::size_t offset, const std::uint32_t* index) {
            const std::size_t phase = whole ? 0 : index[spec.rank - 1];
            store_interleaved(pre, tile, phase, source + dense, reinterpret_cast<T*>(bytes + offset), rows.length(),
                              zero);
        });
        return;
    }
    const bool planes = pre.axis == Channels::second && pre.count > 1;
    const Rows rows(spec, planes ? 2 : 0);
    const std::size_t plane = planes ? elements(spec) / spec.dims[0] / spec.dims[1] : 0;
    rows.each([&](std::size_t dense, std::size_t offset, const std::uint32_t* index) {
        const std::size_t channel = planes ? index[1] : 0;
        const std::size_t from = planes && pre.order != nullptr ? pre.order[channel] : channel;
        store_values(source + dense + from * plane - channel * plane, reinterpret_cast<T*>(bytes + offset),
                     rows.length(), coefficients(pre, channel, spec.scale), zero);
    });
}

template <typename T>
void dequantise_as(const TensorSpec& spec, const void* source, float* target) {
    const auto* const bytes = static_cast<const unsigned char*>(source);
    const Rows rows(spec);
    rows.each([&](std::size_t dense, std::size_t offset, const std::uint32_t*) {
        load_values(reinterpret_cast<const T*>(bytes + offset), target + dense, rows.length(), spec.scale,
                    spec.zero_point);
    });
}

/// Whether a tensor can be converted at all; tells why not.
inline bool convertible(const TensorSpec& spec, const Preprocessing& pre = {}) {
    if (element_bytes(spec.type) == 0) {
        return fail_text(Stage::tensors, "tensor '%s': no conversion for elements %s (type %u)", spec.name,
                         type_name(spec.type), static_cast<unsigned>(spec.type));
    }
    if (spec.rank > max_rank) {
        return fail_text(Stage::tensors, "tensor '%s' has %u axes, at most 8 are possible", spec.name,
                         static_cast<unsigned>(spec.rank));
    }
    if (!(spec.scale > 0.0F) || spec.scale > 3.0e38F) {
        return fail_text(Stage::tensors, "tensor '%s': a scale of %g", spec.name, static_cast<double>(spec.scale));
    }
    for (std::size_t i = 0; i < spec.rank; ++i) {
        if (spec.dims[i] > 1 && spec.pitches[i] % element_bytes(spec.type) != 0) {
            return fail_text(Stage::tensors, "tensor '%s': pitch %u cuts through elements %s", spec.name,
                             static_cast<unsigned>(spec.pitches[i]), type_name(spec.type));
        }
    }
    const std::size_t axis = pre.axis == Channels::second ? 1 : spec.rank - std::size_t{1};
    const bool one = pre.axis == Channels::none;
    const bool fits = pre.count == 0 || (one ? pre.count == 1 : axis < spec.rank && spec.dims[axis] == pre.count);
    bool order_fits = true;
    for (std::uint32_t c = 0; pre.order != nullptr && c < pre.count; ++c) {
        order_fits = order_fits && pre.order[c] < pre.count;
    }
    return (fits && order_fits) ||
           fail_text(Stage::tensors, "tensor '%s': its preprocessing is for other channels (%u)", spec.name,
                     static_cast<unsigned>(pre.count));
}

/// Dense float values into a tensor of the NPU.
inline bool quantise(const TensorSpec& spec, const float* source, void* target, const Preprocessing& pre = {}) {
    if (!convertible(spec, pre)) {
        return false;
    }
    switch (spec.type) {
        case DataType::int8: quantise_as<std::int8_t>(spec, pre, source, target); break;
        case DataType::uint8: quantise_as<std::uint8_t>(spec, pre, source, target); break;
        case DataType::int16: quantise_as<std::int16_t>(spec, pre, source, target); break;
        case DataType::uint16: quantise_as<std::uint16_t>(spec, pre, source, target); break;
        case DataType::float16: quantise_as<Half>(spec, pre, source, target); break;
        case DataType::int32: quantise_as<std::int32_t>(spec, pre, source, target); break;
        case DataType::float32: quantise_as<float>(spec, pre, source, target); break;
        default: return false;  // told by convertible()
    }
    return true;
}

/// A tensor of the NPU into dense float values.
inline bool dequantise(const TensorSpec& spec, const void* source, float* target) {
    if (!convertible(spec)) {
        return false;
    }
    switch (spec.type) {
        case DataType::int8: dequantise_as<std::int8_t>(spec, source, target); break;
        case DataType::uint8: dequantise_as<std::uint8_t>(spec, source, target); break;
        case DataType::int16: dequantise_as<std::int16_t>(spec, source, target); break;
        case DataType::uint16: dequantise_as<std::uint16_t>(spec, source, target); break;
        case DataType::float16: dequantise_as<Half>(spec, source, target); break;
        case DataType::int32: dequantise_as<std::int32_t>(spec, source, target); break;
        case DataType::float32: dequantise_as<float>(spec, source, target); break;
        default: return false;  // told by convertible()
    }
    return true;
}

/// Dense values of the tensor's own type into the tensor.
inline void copy_in(const TensorSpec& spec, const void* source, void* target) {
    const std::size_t bytes = element_bytes(spec.type);
    const Rows rows(spec);
    rows.each([&](std::size_t dense, std::size_t offset, const std::uint32_t*) {
        std::memcpy(static_cast<unsigned char*>(target) + offset,
                    static_cast<const unsigned char*>(source) + dense * bytes, rows.length() * bytes);
    });
}

/// The tensor into dense values of its own type.
inline void copy_out(const TensorSpec& spec, const void* source, void* target) {
    const std::size_t bytes = element_bytes(spec.type);
    const Rows rows(spec);
    rows.each([&](std::size_t dense, std::size_t offset, const std::uint32_t*) {
        std::memcpy(static_cast<unsigned char*>(target) + dense * bytes,
                    static_cast<const unsigned char*>(source) + offset, rows.length() * bytes);
    });
}

}  // namespace export_xmedia
