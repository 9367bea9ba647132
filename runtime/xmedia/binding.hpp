// SPDX-License-Identifier: EPL-2.0
// Where the inputs or the outputs of a model live, and their flushes.
#pragma once

#include <xmedia_mmz.h>

#include <cstddef>
#include <cstdint>

#include "common/model.hpp"
#include "xmedia/failure.hpp"
#include "xmedia/mmz.hpp"
#include "xmedia/tensor_spec.hpp"
#include "xmedia/tensors.hpp"

// Bits of this macro leave flushes out, so that a test can see that it notices: 1 those of inputs, 2 those of outputs.
#ifndef EXPORT_XMEDIA_TEST_NO_FLUSH
#define EXPORT_XMEDIA_TEST_NO_FLUSH 0
#endif

namespace export_xmedia {

/// One direction of a model. The NPU takes all its tensors as one range: it adds each tensor's offset in the file to
/// the first one's address, wherever the others are said to be.
class Binding {
public:
    constexpr Binding(const char* direction, unsigned flush_bit) : direction_(direction), flush_bit_(flush_bit) {}

    /// One block of our own that holds `capacity` items of a batch.
    bool allocate(const export_common::Table<TensorSpec>& specs, std::uint32_t capacity, bool cached) {
        specs_ = specs;
        std::uint64_t bytes = 0;
        for (std::size_t i = 0; i < specs.count; ++i) {
            // Before it is bound, an address is the offset that the compiled program uses.
            const auto offset = reinterpret_cast<std::uintptr_t>(arrays_[i].addr);
            if (offset != bytes) {
                return fail_text(Stage::tensors, "%s %zu '%s' lies at %lu of its block, not at %lu", direction_, i,
                                 specs[i].name, static_cast<unsigned long>(offset), static_cast<unsigned long>(bytes));
            }
            bytes += up8(specs[i].size);
        }
        constexpr std::uint64_t limit = 0x40000000;  // more than any board has
        if (bytes * capacity > limit) {
            return fail_text(Stage::memory, "%ss of %llu bytes for a batch of %u", direction_,
                             static_cast<unsigned long long>(bytes), static_cast<unsigned>(capacity));
        }
        step_ = static_cast<std::uint32_t>(bytes);
        if (!block_.allocate(direction_, step_ * capacity, cached)) {
            return false;
        }
        auto* const base = static_cast<unsigned char*>(block_.data());
        for (std::size_t i = 0; i < specs.count; ++i) {
            arrays_[i].addr = base + reinterpret_cast<std::uintptr_t>(arrays_[i].addr);
        }
        start_ = base;
        return locate();
    }

    /// Where the library has put the tensors in the workspace.
    bool adopt(const export_common::Table<TensorSpec>& specs) {
        specs_ = specs;
        const auto begin = [this](std::size_t i) { return static_cast<unsigned char*>(arrays_[i].addr); };
        start_ = begin(0);
        const unsigned char* end = start_;
        for (std::size_t i = 0; i < specs.count; ++i) {
            start_ = begin(i) < start_ ? begin(i) : start_;
            end = begin(i) + specs[i].size > end ? begin(i) + specs[i].size : end;
        }
        step_ = static_cast<std::uint32_t>(end - start_);
        return locate();
    }

    void release() {
        block_.release();
        arrays_.release();
        start_ = nullptr;
    }

    /// Makes what one side wrote visible to the other. Costs nothing where memory is not cached.
    bool flush(std::uint32_t batch) const {
        return !cached_ || start_ == nullptr || step_ == 0 || (EXPORT_XMEDIA_TEST_NO_FLUSH & flush_bit_) != 0 ||
               check(Stage::run, "xmedia_mmz_flush_cache", xmedia_mmz_flush_cache(physical_, start_, step_ * batch));
    }

    /// A tensor of an item of the batch.
    unsigned char* at(std::size_t i, std::uint32_t item) const {
        return static_cast<unsigned char*>(arrays_[i].addr) + std::size_t{item} * step_;
    }

    TensorArrays& arrays() { return arrays_; }

private:
    /// The physical address, and whether there is a cache before it.
    bool locate() {
        if (start_ == nullptr) {
            return true;
        }
        xmedia_bool cached = XMEDIA_FALSE;
        if (!check(Stage::memory, "xmedia_mmz_virt_to_phy", xmedia_mmz_virt_to_phy(start_, &physical_)) ||
            !check(Stage::memory, "xmedia_mmz_is_cached", xmedia_mmz_is_cached(start_, &cached))) {
            return false;
        }
        cached_ = cached != XMEDIA_FALSE;
        return physical_ % 8 == 0 || fail(Stage::memory, "xmedia_mmz_virt_to_phy", error_alignment);
    }

    const char* direction_;
    unsigned flush_bit_;
    export_common::Table<TensorSpec> specs_;
    TensorArrays arrays_;
    MmzBlock block_;
    unsigned char* start_ = nullptr;
    xmedia_u64 physical_ = 0;
    std::uint32_t step_ = 0;  ///< bytes from one item of the batch to the next
    bool cached_ = false;
};

}  // namespace export_xmedia
