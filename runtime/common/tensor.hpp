// SPDX-License-Identifier: EPL-2.0
// Tensors as bytes: their sizes, their storage, and the way between the layout of the ONNX model and the device's.
#pragma once

#include <cstddef>
#include <cstdlib>

#include "common/model.hpp"

namespace export_common {

std::size_t element_bytes(DataType type);
const char* type_name(DataType type);

inline std::size_t tensor_bytes(const TensorInfo& tensor) {
    return tensor.shape.elements() * element_bytes(tensor.type);
}

/// "float32 [1,3,224,224]", for messages.
struct TensorText {
    explicit TensorText(const TensorInfo& tensor);
    char text[128];
};

/// Storage that a kernel may read: aligned, and with room to read past the end.
class Buffer {
public:
    explicit Buffer(std::size_t bytes);
    ~Buffer() { std::free(data_); }
    Buffer(Buffer&& other) noexcept : data_(other.data_) { other.data_ = nullptr; }
    Buffer(const Buffer&) = delete;
    Buffer& operator=(const Buffer&) = delete;
    Buffer& operator=(Buffer&&) = delete;

    void* data() const { return data_; }  ///< nullptr when memory ran out

private:
    void* data_;
};

/// Copies a tensor from the layout of the ONNX model into the device's.
void to_device(const TensorInfo& tensor, const void* source, void* destination);

/// Copies a tensor from the device's layout into that of the ONNX model.
void to_onnx(const TensorInfo& tensor, const void* source, void* destination);

}  // namespace export_common
