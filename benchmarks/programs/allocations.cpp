// SPDX-License-Identifier: EPL-2.0
// Counts what a network takes from the heap: while it starts, and in ten runs after that.
#include <malloc.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>

#include "network.hpp"

namespace {
unsigned long calls = 0;
}

// The program's own allocator functions come before the C library's, which they call. (glibc only.)
extern "C" {
void* __libc_malloc(std::size_t);
void* __libc_calloc(std::size_t, std::size_t);
void* __libc_realloc(void*, std::size_t);
void* __libc_memalign(std::size_t, std::size_t);

void* malloc(std::size_t bytes) {
    ++calls;
    return __libc_malloc(bytes);
}
void* calloc(std::size_t count, std::size_t bytes) {
    ++calls;
    return __libc_calloc(count, bytes);
}
void* realloc(void* old, std::size_t bytes) {
    ++calls;
    return __libc_realloc(old, bytes);
}
void* memalign(std::size_t alignment, std::size_t bytes) {
    ++calls;
    return __libc_memalign(alignment, bytes);
}
void* aligned_alloc(std::size_t alignment, std::size_t bytes) {
    ++calls;
    return __libc_memalign(alignment, bytes);
}
int posix_memalign(void** result, std::size_t alignment, std::size_t bytes) {
    ++calls;
    *result = __libc_memalign(alignment, bytes);
    return *result == nullptr ? ENOMEM : 0;
}
}

int main() {
    const unsigned long before = calls;
    bool ok = network_init();
    const unsigned long started = calls;
    for (int i = 0; ok && i < 10; ++i) {
        ok = network_run();
    }
    const unsigned long ran = calls;
    if (!ok) {
        std::fputs("allocations: the network failed\n", stderr);
        return 1;
    }
    std::printf("init %lu\nrun %lu\n", started - before, ran - started);
    return 0;
}
