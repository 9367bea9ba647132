// SPDX-License-Identifier: EPL-2.0
// xmedia_mmz.h on top of the zone.
#include "xmedia_mmz.h"

#include "config.hpp"
#include "diagnose.hpp"
#include "summary.hpp"
#include "zone.hpp"

using namespace xmedia_sim;

void xmedia_mmz_init(void) {}
void xmedia_mmz_exit(void) {}

xmedia_u64 xmedia_mmz_alloc(const char* /*zone*/, const char* name, xmedia_u32 size) {
    watch_exit();
    const char* shown = name == nullptr ? "" : name;
    const std::uint64_t physical = fault(Fault::alloc) ? 0 : Zone::instance().allocate(shown, size);
    if (physical == 0) {
        failed(XMEDIA_FAILURE, "xmedia_mmz_alloc: no room for '%s' of %u bytes", shown, size);
    }
    return physical;
}

xmedia_s32 xmedia_mmz_free(xmedia_u64 phy_addr) {
    if (Zone::instance().free(phy_addr)) {
        return XMEDIA_SUCCESS;
    }
    return failed(XMEDIA_FAILURE, "xmedia_mmz_free: 0x%llx is no block", phy_addr);
}

void* xmedia_mmz_map(xmedia_u64 phy_addr, xmedia_u32 size, xmedia_bool cached) {
    void* address = fault(Fault::map) ? nullptr : Zone::instance().map(phy_addr, size, cached != XMEDIA_FALSE);
    if (address == nullptr) {
        failed(XMEDIA_FAILURE, "xmedia_mmz_map: %u bytes at 0x%llx", size, phy_addr);
    }
    return address;
}

xmedia_s32 xmedia_mmz_unmap(void* virt_addr) {
    if (Zone::instance().unmap(virt_addr)) {
        return XMEDIA_SUCCESS;
    }
    return failed(XMEDIA_FAILURE, "xmedia_mmz_unmap: %p is no mapping", virt_addr);
}

xmedia_s32 xmedia_mmz_flush_cache(xmedia_u64 phy_addr, void* virt_addr, xmedia_u32 size) {
    const auto place = Zone::instance().locate(virt_addr);
    if (!place || place->physical != phy_addr || size > place->room) {
        misuse("flush of %u bytes at %p / 0x%llx, which are not in one mapping", size, virt_addr, phy_addr);
        return failed(XMEDIA_FAILURE, "xmedia_mmz_flush_cache: %u bytes at %p / 0x%llx", size, virt_addr, phy_addr);
    }
    if (fault(Fault::flush)) {
        return failed(XMEDIA_FAILURE, "xmedia_mmz_flush_cache: fault injected");
    }
    Zone::instance().flush(virt_addr, size);
    return XMEDIA_SUCCESS;
}

xmedia_s32 xmedia_mmz_virt_to_phy(void* virt_addr, xmedia_u64* phy_addr) {
    const auto place = Zone::instance().locate(virt_addr);
    if (!place || phy_addr == nullptr) {
        return failed(XMEDIA_FAILURE, "xmedia_mmz_virt_to_phy: %p is not mapped", virt_addr);
    }
    *phy_addr = place->physical;
    return XMEDIA_SUCCESS;
}

xmedia_s32 xmedia_mmz_is_cached(void* virt_addr, xmedia_bool* cached) {
    const auto place = Zone::instance().locate(virt_addr);
    if (!place || cached == nullptr) {
        return failed(XMEDIA_FAILURE, "xmedia_mmz_is_cached: %p is not mapped", virt_addr);
    }
    *cached = place->cached ? XMEDIA_TRUE : XMEDIA_FALSE;
    return XMEDIA_SUCCESS;
}
