// SPDX-License-Identifier: EPL-2.0
// Blocks of MMZ memory: physically contiguous, shared by CPU and NPU.
#pragma once

#include <xmedia_mmz.h>

#include <cstdint>

#include "xmedia/failure.hpp"

namespace export_xmedia {

constexpr int error_failure = -1;
constexpr int error_alignment = -69;

/// Owns one block and its mapping.
class MmzBlock {
public:
    constexpr MmzBlock() = default;
    ~MmzBlock() { release(); }
    MmzBlock(const MmzBlock&) = delete;
    MmzBlock& operator=(const MmzBlock&) = delete;

    /// Allocates and maps at least `bytes`; the NPU's addresses are multiples of 8.
    bool allocate(const char* name, std::uint32_t bytes, bool cached) {
        release();
        bytes_ = bytes == 0 ? 8 : bytes;  // the library takes no null pointer, even for nothing
        physical_ = xmedia_mmz_alloc(nullptr, name, bytes_);
        if (physical_ == 0) {
            return fail_with("xmedia_mmz_alloc", name);
        }
        if (physical_ % 8 != 0) {
            release();
            return fail(Stage::memory, "xmedia_mmz_alloc", error_alignment);
        }
        data_ = xmedia_mmz_map(physical_, bytes_, cached ? XMEDIA_TRUE : XMEDIA_FALSE);
        if (data_ == nullptr) {
            fail_with("xmedia_mmz_map", name);
            release();
            return false;
        }
        return true;
    }

    void release() {
        if (data_ != nullptr) {
            xmedia_mmz_unmap(data_);
            data_ = nullptr;
        }
        if (physical_ != 0) {
            xmedia_mmz_free(physical_);
            physical_ = 0;
        }
    }

    void* data() const { return data_; }
    std::uint32_t bytes() const { return bytes_; }

private:
    bool fail_with(const char* call, const char* name) const {
        fail_text(Stage::memory, "%s: no %lu bytes for '%s': %s", call, static_cast<unsigned long>(bytes_), name,
                  hint(Stage::memory, error_failure));
        last_code = error_failure;
        return false;
    }

    void* data_ = nullptr;
    xmedia_u64 physical_ = 0;
    std::uint32_t bytes_ = 0;
};

}  // namespace export_xmedia
