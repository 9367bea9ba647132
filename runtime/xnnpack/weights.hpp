// SPDX-License-Identifier: EPL-2.0
// Weights live in the program file; XNNPACK packs a copy of its own, after which the originals need no memory.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>

extern "C" {
// Around all weights of the program; weak, since a network without weights has none.
extern const unsigned char aidge_parameters_begin[] __attribute__((weak));
extern const unsigned char aidge_parameters_end[] __attribute__((weak));
}

namespace export_xnnpack {

/// Lets Linux drop the pages of constant data that has been packed. They are backed by the program file, so reading
/// them again only costs time. Pages shared with neighbouring data stay.
inline void release_pages(const void* data, std::size_t bytes) {
    const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
    const std::uintptr_t begin = (reinterpret_cast<std::uintptr_t>(data) + page - 1) / page * page;
    const std::uintptr_t end = (reinterpret_cast<std::uintptr_t>(data) + bytes) / page * page;
    if (begin < end) {
        // Failing here costs memory, not correctness.
        (void)madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
    }
}

/// The same for all weights at once, when every layer has packed its own: packing one layer brings pages of its
/// neighbours back, since Linux maps some around each that is missing.
inline void release_all_weights() {
    if (aidge_parameters_begin != nullptr) {
        const auto begin = reinterpret_cast<std::uintptr_t>(aidge_parameters_begin);
        const auto end = reinterpret_cast<std::uintptr_t>(aidge_parameters_end);
        release_pages(aidge_parameters_begin, end - begin);
    }
}

}  // namespace export_xnnpack
