// SPDX-License-Identifier: EPL-2.0
// The memory zone: blocks, mappings, and the two views of cached memory.
#include "support.hpp"

#include <cstring>

namespace {

void blocks() {
    const xmedia_u64 first = xmedia_mmz_alloc(nullptr, "first", 1);
    const xmedia_u64 second = xmedia_mmz_alloc("anonymous", nullptr, 4097);
    const xmedia_u64 third = xmedia_mmz_alloc(nullptr, "third", 4096);
    EQUAL(first, 0x42000000);
    EQUAL(second, 0x42001000);
    EQUAL(third, 0x42003000);
    EQUAL(xmedia_mmz_free(second), 0);
    EQUAL(xmedia_mmz_alloc(nullptr, "in the gap", 8192), 0x42001000);
    EQUAL(xmedia_mmz_alloc(nullptr, "nothing", 0), 0);
    EQUAL(xmedia_mmz_alloc(nullptr, "too much", 0xFFFFFFFF), 0);
    for (const xmedia_u64 physical : {first, second, third}) {
        EQUAL(xmedia_mmz_free(physical), 0);
    }
    EQUAL(xmedia_mmz_free(first), -1);
    // XMEDIA_SIM_MMZ_MB=1
    const xmedia_u64 all = xmedia_mmz_alloc(nullptr, "all", 1 << 20);
    EQUAL(all, 0x42000000);
    EQUAL(xmedia_mmz_alloc(nullptr, "one more", 1), 0);
    EQUAL(xmedia_mmz_free(all), 0);
}

void mappings() {
    const Buffer cached(100);
    const Buffer uncached(100, false);
    int stack = 0;
    xmedia_u64 physical = 0;
    xmedia_bool is_cached = XMEDIA_FALSE;
    EQUAL(xmedia_mmz_virt_to_phy(cached.bytes() + 17, &physical), 0);
    CHECK(physical == cached.physical + 17);
    EQUAL(xmedia_mmz_virt_to_phy(&stack, &physical), -1);
    EQUAL(xmedia_mmz_is_cached(cached.data, &is_cached), 0);
    CHECK(is_cached == XMEDIA_TRUE);
    EQUAL(xmedia_mmz_is_cached(uncached.data, &is_cached), 0);
    CHECK(is_cached == XMEDIA_FALSE);
    EQUAL(xmedia_mmz_is_cached(&stack, &is_cached), -1);
    CHECK(xmedia_mmz_map(cached.physical, 4097, XMEDIA_TRUE) == nullptr);
    CHECK(xmedia_mmz_map(0x41000000, 1, XMEDIA_TRUE) == nullptr);
    EQUAL(xmedia_mmz_unmap(&stack), -1);
    EQUAL(xmedia_mmz_flush_cache(cached.physical + 64, cached.data, 1), -1);
    EQUAL(xmedia_mmz_flush_cache(cached.physical, cached.data, 101), -1);
    EQUAL(xmedia_mmz_flush_cache(uncached.physical, uncached.data, 100), 0);
}

/// `device` looks past the cache: what the NPU would see.
void views() {
    const Buffer cpu(256);
    auto* device = static_cast<std::uint8_t*>(xmedia_mmz_map(cpu.physical, 256, XMEDIA_FALSE));
    CHECK(device != nullptr);
    std::memset(cpu.data, 1, 256);
    EQUAL(device[0], 0);
    cpu.flush();
    EQUAL(device[0], 1);
    EQUAL(device[255], 1);
    // What the device writes is not seen before a flush.
    device[10] = 2;
    EQUAL(cpu.bytes()[10], 1);
    EQUAL(xmedia_mmz_flush_cache(cpu.physical + 64, cpu.bytes() + 64, 64), 0);
    EQUAL(cpu.bytes()[10], 1);
    EQUAL(xmedia_mmz_flush_cache(cpu.physical + 3, cpu.bytes() + 3, 1), 0);
    EQUAL(cpu.bytes()[10], 2);
    // A changed line overwrites all 64 bytes of it, those that the device wrote too.
    device[64] = 3;
    device[128] = 3;
    cpu.bytes()[127] = 4;
    cpu.flush();
    EQUAL(device[64], 1);
    EQUAL(device[127], 4);
    EQUAL(cpu.bytes()[128], 3);
    // The cache outlives a mapping.
    cpu.bytes()[200] = 5;
    auto* again = static_cast<std::uint8_t*>(xmedia_mmz_map(cpu.physical + 192, 64, XMEDIA_TRUE));
    CHECK(again != nullptr);
    EQUAL(again[8], 5);
    EQUAL(device[200], 1);
    EQUAL(xmedia_mmz_unmap(again), 0);
    EQUAL(xmedia_mmz_unmap(device), 0);
}

}  // namespace

int main(int argc, char** argv) {
    if (argc > 1 && std::string(argv[1]) == "touch-unmapped") {
        const xmedia_u64 physical = xmedia_mmz_alloc(nullptr, "gone", 8);
        auto* data =
            static_cast<volatile std::uint8_t*>(xmedia_mmz_map(physical, 8, argc > 2 ? XMEDIA_TRUE : XMEDIA_FALSE));
        data[0] = 1;
        EQUAL(xmedia_mmz_unmap(const_cast<std::uint8_t*>(data)), 0);
        return data[0];
    }
    blocks();
    mappings();
    views();
    return 0;
}
