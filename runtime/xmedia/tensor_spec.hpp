// SPDX-License-Identifier: EPL-2.0
// What is known of a model's tensors at export: the generated tables consist of these.
#pragma once

#include <cstddef>
#include <cstdint>

namespace export_xmedia {

/// Element types, numbered as in the model file.
enum class DataType : std::uint32_t {
    int8 = 0,
    uint8 = 1,
    int16 = 2,
    uint16 = 3,
    float16 = 4,
    int32 = 5,
    float32 = 6,
    int4 = 7,
    uint12 = 8,
    uint10 = 9,
};

constexpr std::size_t max_rank = 8;

/// A tensor of the NPU: real value = (stored - zero_point) * scale.
struct TensorSpec {
    const char* name;  ///< for messages; files leave most tensors without a name
    std::uint32_t id;
    DataType type;
    std::uint32_t rank;
    std::uint32_t dims[max_rank];
    std::uint32_t pitches[max_rank];  ///< bytes from one index of an axis to the next
    float scale;
    std::int32_t zero_point;
    std::uint32_t size;  ///< bytes, gaps included
};

/// Which axis of an input holds the channels.
enum class Channels : std::uint8_t {
    none,    ///< no axis: a[0] and b[0] hold for all values
    last,    ///< N...C
    second,  ///< NC...
};

/// How the program's values become the real values of an input:
/// real[c] = value[order[c]] * a[c] + b[c] for each of the tensor's channels c.
struct Preprocessing {
    Channels axis = Channels::none;
    std::uint32_t count = 0;              ///< channels, 1 when there is no axis, 0: nothing to do
    const float* a = nullptr;             ///< nullptr: ones
    const float* b = nullptr;             ///< nullptr: zeros
    const std::uint8_t* order = nullptr;  ///< nullptr: as they come
};

/// Bytes of an element, 0 for types that no conversion exists for.
constexpr std::size_t element_bytes(DataType type) {
    switch (type) {
        case DataType::int8:
        case DataType::uint8: return 1;
        case DataType::int16:
        case DataType::uint16:
        case DataType::float16: return 2;
        case DataType::int32:
        case DataType::float32: return 4;
        default: return 0;
    }
}

constexpr const char* type_name(DataType type) {
    switch (type) {
        case DataType::int8: return "int8";
        case DataType::uint8: return "uint8";
        case DataType::int16: return "int16";
        case DataType::uint16: return "uint16";
        case DataType::float16: return "float16";
        case DataType::int32: return "int32";
        case DataType::float32: return "float32";
        case DataType::int4: return "int4";
        case DataType::uint12: return "uint12";
        case DataType::uint10: return "uint10";
        default: return "of unknown type";
    }
}

/// Values of a tensor, without gaps.
constexpr std::size_t elements(const TensorSpec& spec) {
    std::size_t count = 1;
    for (std::size_t i = 0; i < spec.rank && i < max_rank; ++i) {
        count *= spec.dims[i];
    }
    return count;
}

/// Bytes from the first to past the last value: no more than the tensor's size.
constexpr std::uint64_t extent(const TensorSpec& spec) {
    std::uint64_t bytes = element_bytes(spec.type);
    for (std::size_t i = 0; i < spec.rank && i < max_rank; ++i) {
        if (spec.dims[i] == 0) {
            return 0;
        }
        bytes += (spec.dims[i] - std::uint64_t{1}) * spec.pitches[i];
    }
    return bytes;
}

/// Tensors and items of a batch lie in steps of 8 bytes.
constexpr std::uint32_t up8(std::uint32_t bytes) {
    return (bytes + 7U) & ~7U;
}

}  // namespace export_xmedia
