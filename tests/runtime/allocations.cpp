// SPDX-License-Identifier: EPL-2.0
// Counts what forward() allocates once the network has been started. Linked with the library of an exported network;
// MODEL_HEADER, MODEL_INIT and MODEL_FORWARD name its API.
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include MODEL_HEADER

extern "C" {
void* __libc_malloc(std::size_t);
void* __libc_calloc(std::size_t, std::size_t);
void* __libc_realloc(void*, std::size_t);
void* __libc_memalign(std::size_t, std::size_t);

static long allocations = 0;

void* malloc(std::size_t size) {
    ++allocations;
    return __libc_malloc(size);
}

void* calloc(std::size_t count, std::size_t size) {
    ++allocations;
    return __libc_calloc(count, size);
}

void* realloc(void* memory, std::size_t size) {
    ++allocations;
    return __libc_realloc(memory, size);
}

void* memalign(std::size_t alignment, std::size_t size) {
    ++allocations;
    return __libc_memalign(alignment, size);
}

void* aligned_alloc(std::size_t alignment, std::size_t size) {
    return memalign(alignment, size);
}

int posix_memalign(void** memory, std::size_t alignment, std::size_t size) {
    *memory = memalign(alignment, size);
    return *memory == nullptr ? ENOMEM : 0;
}
}

int main() {
    const std::vector<float> input(MODEL_INPUT_SIZE, 0.5F);
    const long before_init = allocations;
    if (MODEL_INIT() != 0) {
        return 1;
    }
    const long before = allocations;
    float* output = nullptr;
    for (int i = 0; i < 3; ++i) {
        MODEL_FORWARD(input.data(), &output);
    }
    const long after = allocations;
    // That init() allocates shows that the counting works.
    std::printf("%ld %ld\n", before - before_init, after - before);
    return output == nullptr ? 1 : 0;
}
