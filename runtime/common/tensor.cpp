// SPDX-License-Identifier: EPL-2.0
#include "common/tensor.hpp"

#include <cstdio>
#include <cstring>

namespace export_common {
namespace {

/// Calls visit(offset in the ONNX layout, offset in the device layout) for every element, offsets in bytes.
template <typename Visit>
void for_each_element(const TensorInfo& tensor, Visit visit) {
    const Dims& shape = tensor.shape;
    const std::size_t rank = shape.rank();
    const std::size_t bytes = element_bytes(tensor.type);
    std::size_t strides[Dims::max_rank] = {};
    std::size_t stride = bytes;
    for (std::size_t axis = rank; axis-- > 0;) {
        strides[axis] = stride;
        stride *= shape[axis];
    }
    std::size_t index[Dims::max_rank] = {};
    const std::size_t end = tensor_bytes(tensor);
    std::size_t onnx = 0;
    for (std::size_t device = 0; device < end; device += bytes) {
        visit(onnx, device);
        // Counts up in the device's order, last axis first.
        for (std::size_t i = rank; i-- > 0;) {
            const std::size_t axis = tensor.permutation[i];
            onnx += strides[axis];
            if (++index[i] < shape[axis]) {
                break;
            }
            onnx -= strides[axis] * shape[axis];
            index[i] = 0;
        }
    }
}

}  // namespace

std::size_t element_bytes(DataType type) {
    switch (type) {
        case DataType::int8:
        case DataType::uint8: return 1;
        case DataType::int16:
        case DataType::uint16: return 2;
        case DataType::float32:
        case DataType::int32:
        case DataType::uint32: return 4;
        case DataType::float64:
        case DataType::int64:
        case DataType::uint64: break;
    }
    return 8;
}

const char* type_name(DataType type) {
    switch (type) {
        case DataType::float32: return "float32";
        case DataType::float64: return "float64";
        case DataType::int8: return "int8";
        case DataType::int16: return "int16";
        case DataType::int32: return "int32";
        case DataType::int64: return "int64";
        case DataType::uint8: return "uint8";
        case DataType::uint16: return "uint16";
        case DataType::uint32: return "uint32";
        case DataType::uint64: break;
    }
    return "uint64";
}

TensorText::TensorText(const TensorInfo& tensor) {
    int used = std::snprintf(text, sizeof text, "%s [", type_name(tensor.type));
    for (std::size_t i = 0; i < tensor.shape.rank() && used > 0 && static_cast<std::size_t>(used) < sizeof text; ++i) {
        used += std::snprintf(text + used, sizeof text - static_cast<std::size_t>(used), i == 0 ? "%zu" : ",%zu",
                              tensor.shape[i]);
    }
    if (used > 0 && static_cast<std::size_t>(used) < sizeof text) {
        std::snprintf(text + used, sizeof text - static_cast<std::size_t>(used), "]");
    }
}

Buffer::Buffer(std::size_t bytes) : data_(nullptr) {
    constexpr std::size_t alignment = 64;
    constexpr std::size_t tail = 128;  // XNN_EXTRA_BYTES at its largest
    const std::size_t size = (bytes + tail + alignment - 1) / alignment * alignment;
    data_ = std::aligned_alloc(alignment, size);
    if (data_ != nullptr) {
        std::memset(data_, 0, size);
    }
}

void to_device(const TensorInfo& tensor, const void* source, void* destination) {
    if (tensor.permutation.empty()) {
        std::memcpy(destination, source, tensor_bytes(tensor));
        return;
    }
    const std::size_t bytes = element_bytes(tensor.type);
    const char* const from = static_cast<const char*>(source);
    char* const to = static_cast<char*>(destination);
    for_each_element(tensor,
                     [=](std::size_t onnx, std::size_t device) { std::memcpy(to + device, from + onnx, bytes); });
}

void to_onnx(const TensorInfo& tensor, const void* source, void* destination) {
    if (tensor.permutation.empty()) {
        std::memcpy(destination, source, tensor_bytes(tensor));
        return;
    }
    const std::size_t bytes = element_bytes(tensor.type);
    const char* const from = static_cast<const char*>(source);
    char* const to = static_cast<char*>(destination);
    for_each_element(tensor,
                     [=](std::size_t onnx, std::size_t device) { std::memcpy(to + onnx, from + device, bytes); });
}

}  // namespace export_common
