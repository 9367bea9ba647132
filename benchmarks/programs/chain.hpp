// SPDX-License-Identifier: EPL-2.0
// The little that generated chains of XNNPACK operators share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <initializer_list>
#include <limits>

#include "network.hpp"
#include "xnnpack/version.hpp"

namespace chain {

constexpr float infinity = std::numeric_limits<float>::infinity();

inline void must(xnn_status status, const char* what) {
    if (status != xnn_status_success) {
        std::fprintf(stderr, "chain: %s: status %d\n", what, static_cast<int>(status));
        std::exit(1);
    }
}

/// XNNPACK's heap, counted.
inline std::size_t allocated = 0;

inline void* allocate(void* /*context*/, std::size_t bytes) {
    allocated += bytes;
    return std::malloc(bytes);
}

inline void* allocate_aligned(void* /*context*/, std::size_t alignment, std::size_t bytes) {
    allocated += bytes;
    return std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
}

inline void* reallocate(void* /*context*/, void* pointer, std::size_t bytes) {
    allocated += bytes;
    return std::realloc(pointer, bytes);
}

inline void release(void* /*context*/, void* pointer) {
    std::free(pointer);
}

inline void start() {
    static const xnn_allocator allocator = {nullptr, allocate, reallocate, release, allocate_aligned, release};
    must(xnn_initialize(&allocator), "initialize");
}

/// Some numbers between -1 and 1.
inline void fill(float* values, std::size_t count) {
    std::uint32_t state = 1;
    for (std::size_t i = 0; i < count; ++i) {
        state = state * 1664525U + 1013904223U;
        values[i] = static_cast<float>(state >> 8) * 0x1p-23F - 1.0F;
    }
}

inline void* workspace(std::size_t bytes) {
    return bytes == 0 ? nullptr : std::aligned_alloc(64, (bytes + 63) / 64 * 64);
}

}  // namespace chain
