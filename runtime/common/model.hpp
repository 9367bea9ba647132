// SPDX-License-Identifier: EPL-2.0
// What the program must know of a model: main.cpp fills these tables in.
#pragma once

#include <cstddef>
#include <initializer_list>

#include "common/profile.hpp"

// Which XNNPACK was linked and from where, as cmake/export_xnnpack.cmake says; an export without XNNPACK has none.
#ifndef AIDGE_XNNPACK_DESCRIPTION
#define AIDGE_XNNPACK_DESCRIPTION ""
#endif

namespace export_common {

/// Element types, named as NumPy names them.
enum class DataType { float32, float64, int8, int16, int32, int64, uint8, uint16, uint32, uint64 };

/// A short list of sizes or axes that needs no heap.
class Dims {
public:
    static constexpr std::size_t max_rank = 8;

    constexpr Dims() = default;
    constexpr Dims(std::initializer_list<std::size_t> values) : rank_(values.size()) {
        std::size_t i = 0;
        for (const std::size_t value : values) {
            values_[i++] = value;  // too many do not compile: the tables are constant expressions
        }
    }

    constexpr std::size_t rank() const { return rank_; }
    constexpr bool empty() const { return rank_ == 0; }
    constexpr std::size_t operator[](std::size_t i) const { return values_[i]; }
    constexpr std::size_t elements() const {
        std::size_t count = 1;
        for (std::size_t i = 0; i < rank_; ++i) {
            count *= values_[i];
        }
        return count;
    }

private:
    std::size_t rank_ = 0;
    std::size_t values_[max_rank] = {};
};

/// An input or output of the model.
struct TensorInfo {
    const char* name;    ///< in the ONNX model
    const char* symbol;  ///< in the generated code
    DataType type;
    Dims shape;         ///< in the ONNX model
    Dims device_shape;  ///< as the forward function takes it: the same number of elements
    Dims permutation;   ///< axes of `shape` in the device's order, as numpy.transpose takes them; empty when the same
};

/// A table of fixed size that lives elsewhere.
template <typename T>
struct Table {
    const T* items = nullptr;
    std::size_t count = 0;

    constexpr Table() = default;
    template <std::size_t N>
    constexpr Table(const T (&array)[N]) : items(array), count(N) {}

    const T* begin() const { return items; }
    const T* end() const { return items + count; }
    const T& operator[](std::size_t i) const { return items[i]; }
};

struct Model {
    const char* name = "";
    const char* target = "";
    const char* xnnpack = AIDGE_XNNPACK_DESCRIPTION;
    std::size_t arena_bytes = 0;
    Table<TensorInfo> inputs;
    Table<TensorInfo> outputs;
    Table<const void*> samples;  ///< compiled-in inputs, in the device layout

    void (*model_file)(const char* path) = nullptr;  ///< chooses the NPU's model before init; nullptr: there is none
    int (*init)() = nullptr;                         ///< 0 when all is well
    const char* (*error)() = nullptr;                ///< message of the last failure, "" when there was none
    /// Reads one pointer per input and writes one per output; nullptr where it failed.
    void (*forward)(const void* const* inputs, const void** outputs) = nullptr;

    void (*profile)(int on) = nullptr;  ///< 1: time every layer, from zero; 0: stop
    std::size_t (*layer_count)() = nullptr;
    const LayerProfile* (*layers)() = nullptr;
};

}  // namespace export_common
