/* SPDX-License-Identifier: EPL-2.0 */
/* The media memory zone (MMZ): physically contiguous memory that the NPU can reach. */
#ifndef XMEDIA_MMZ_H
#define XMEDIA_MMZ_H

#include "xmedia_type.h"

#ifdef __cplusplus
extern "C" {
#endif

void xmedia_mmz_init(void);
void xmedia_mmz_exit(void);

/* Physical address, 0 when the zone is full. `zone` NULL: any. */
xmedia_u64 xmedia_mmz_alloc(const char* zone, const char* name, xmedia_u32 size);
xmedia_s32 xmedia_mmz_free(xmedia_u64 phy_addr);

/* NULL on failure. */
void* xmedia_mmz_map(xmedia_u64 phy_addr, xmedia_u32 size, xmedia_bool cached);
xmedia_s32 xmedia_mmz_unmap(void* virt_addr);

/* Writes dirty lines back to memory, and forgets all lines, so that the next read sees what the NPU wrote. */
xmedia_s32 xmedia_mmz_flush_cache(xmedia_u64 phy_addr, void* virt_addr, xmedia_u32 size);

xmedia_s32 xmedia_mmz_virt_to_phy(void* virt_addr, xmedia_u64* phy_addr);
xmedia_s32 xmedia_mmz_is_cached(void* virt_addr, xmedia_bool* cached);

#ifdef __cplusplus
}
#endif

#endif
