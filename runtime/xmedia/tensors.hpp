// SPDX-License-Identifier: EPL-2.0
// What the library says of a model's inputs or outputs, and whether that is what the export recorded.
#pragma once

#include <xmedia_cl.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <type_traits>

#include "common/model.hpp"
#include "xmedia/failure.hpp"
#include "xmedia/half.hpp"
#include "xmedia/tensor_spec.hpp"

namespace export_xmedia {

/// The three arrays that the library wants from its caller, zeroed.
class TensorArrays {
public:
    constexpr TensorArrays() = default;
    ~TensorArrays() { release(); }
    TensorArrays(const TensorArrays&) = delete;
    TensorArrays& operator=(const TensorArrays&) = delete;

    bool allocate(std::size_t count) {
        release();
        info_.num = static_cast<xmedia_cl_u32>(count);
        const bool ok =
            zeroed(&info_.tensor, count) && zeroed(&info_.tensor_batch, count) && zeroed(&info_.current_batch, count);
        if (!ok) {
            release();
        }
        return ok;
    }

    void release() {
        std::free(info_.tensor);
        std::free(info_.tensor_batch);
        std::free(info_.current_batch);
        info_ = {};
    }

    xmedia_cl_tensor_info_inout* info() { return &info_; }
    xmedia_cl_tensor& operator[](std::size_t i) { return info_.tensor[i]; }
    const xmedia_cl_tensor& operator[](std::size_t i) const { return info_.tensor[i]; }

private:
    template <typename T>
    static bool zeroed(T** array, std::size_t count) {
        *array = static_cast<T*>(std::calloc(count, sizeof(T)));
        return *array != nullptr;
    }

    xmedia_cl_tensor_info_inout info_{};
};

/// Numbers as "1x12x12x3", for messages.
struct NumbersText {
    NumbersText(const std::uint32_t* numbers, std::size_t count) {
        std::size_t used = 0;
        for (std::size_t i = 0; i < count && i < max_rank; ++i) {
            const int n = std::snprintf(text + used, sizeof text - used, i == 0 ? "%lu" : "x%lu",
                                        static_cast<unsigned long>(numbers[i]));
            used += n > 0 ? static_cast<std::size_t>(n) : 0;
        }
    }
    char text[96] = "";
};

/// Compares one tensor with its record.
class TensorCheck {
public:
    TensorCheck(const char* direction, std::size_t index, const TensorSpec& spec, const xmedia_cl_tensor& tensor)
        : direction_(direction), index_(index), spec_(spec), tensor_(tensor) {}

    bool same() const {
        // Entries past the rank are whatever the compiler had in its memory.
        return number("id", tensor_.tensor_id, spec_.id) && number("rank", tensor_.shape.ndims, spec_.rank) &&
               list("dims", tensor_.shape.dims, spec_.dims) && list("pitches", tensor_.shape.pch, spec_.pitches) &&
               type() && scale() && zero_point() && number("size", tensor_.size, spec_.size) && inside();
    }

private:
    bool differs(const char* what, const char* found, const char* recorded) const {
        return fail_text(Stage::tensors, "%s %zu '%s': its %s is %s in the file, %s in this program", direction_,
                         index_, spec_.name, what, found, recorded);
    }

    bool number(const char* what, std::uint32_t found, std::uint32_t recorded) const {
        return found == recorded || differs(what, NumbersText(&found, 1).text, NumbersText(&recorded, 1).text);
    }

    bool list(const char* what, const std::uint32_t* found, const std::uint32_t* recorded) const {
        bool equal = true;
        for (std::size_t i = 0; i < spec_.rank && i < max_rank; ++i) {
            equal = equal && found[i] == recorded[i];
        }
        return equal || differs(what, NumbersText(found, spec_.rank).text, NumbersText(recorded, spec_.rank).text);
    }

    bool type() const {
        const auto found = static_cast<DataType>(tensor_.shape.type);
        return found == spec_.type || differs("type", type_name(found), type_name(spec_.type));
    }

    bool scale() const {
        char found[32];
        char recorded[32];
        std::snprintf(found, sizeof found, "%.9g", static_cast<double>(tensor_.quant.scale));
        std::snprintf(recorded, sizeof recorded, "%.9g", static_cast<double>(spec_.scale));
        return bits_of(tensor_.quant.scale) == bits_of(spec_.scale) || differs("scale", found, recorded);
    }

    bool zero_point() const {
        char found[16];
        char recorded[16];
        std::snprintf(found, sizeof found, "%d", tensor_.quant.zp);
        std::snprintf(recorded, sizeof recorded, "%ld", static_cast<long>(spec_.zero_point));
        return tensor_.quant.zp == spec_.zero_point || differs("zero point", found, recorded);
    }

    /// No conversion may touch memory past the tensor.
    bool inside() const {
        return extent(spec_) <= spec_.size || fail_text(Stage::tensors, "%s %zu '%s': its pitches reach past its size",
                                                        direction_, index_, spec_.name);
    }

    const char* direction_;
    std::size_t index_;
    const TensorSpec& spec_;
    const xmedia_cl_tensor& tensor_;
};

/// Asks for all inputs or all outputs and compares them with the records.
/// \param get  xmedia_cl_graph_get_input or xmedia_cl_graph_get_output
inline bool read_tensors(xmedia_cl_graph graph, const char* direction, const char* call,
                         xmedia_cl_s32 (*get)(xmedia_cl_graph, xmedia_cl_u32, xmedia_cl_tensor_info_inout*),
                         const export_common::Table<TensorSpec>& specs, TensorArrays* arrays) {
    xmedia_cl_tensor_info_inout count{};
    if (!check(Stage::tensors, call, get(graph, 0, &count))) {
        return false;
    }
    if (count.num != specs.count) {
        return fail_text(Stage::tensors, "the file has %u %ss, this program has %zu", count.num, direction,
                         specs.count);
    }
    constexpr int out_of_memory = -6;
    if (!arrays->allocate(specs.count)) {
        return fail(Stage::tensors, call, out_of_memory);
    }
    if (!check(Stage::tensors, call, get(graph, count.num, arrays->info()))) {
        return false;
    }
    for (std::size_t i = 0; i < specs.count; ++i) {
        if ((*arrays)[i].size == 0 && specs[i].size != 0) {
            return fail_text(Stage::tensors, "%s %zu '%s': the library tells no size; is it that of an older SDK?",
                             direction, i, specs[i].name);
        }
        if (!TensorCheck(direction, i, specs[i], (*arrays)[i]).same()) {
            return false;
        }
    }
    return true;
}

}  // namespace export_xmedia
