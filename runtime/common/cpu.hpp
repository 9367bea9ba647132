// SPDX-License-Identifier: EPL-2.0
// What the processor must have for this program, and what it has.
#pragma once

#include <cstddef>
#include <cstdio>

#if defined(__riscv) || defined(__arm__)
#include <sys/auxv.h>
#endif

namespace export_common {

/// What the program needs and the processor (or the Linux kernel) lacks, as a message; nullptr when all is there.
/// To be asked before anything else: XNNPACK has no scalar fallback on RISC-V, it would hang or die of SIGILL.
inline const char* missing_cpu_feature() {
#if defined(__riscv)
    constexpr unsigned long vector_extension = 1UL << ('V' - 'A');
    if ((getauxval(AT_HWCAP) & vector_extension) == 0) {
        return "this processor, or its Linux kernel, does not offer the RISC-V vector extension (HWCAP 'V') that the "
               "program was compiled for: use an RVV 1.0 processor with Linux 6.5 or newer, or qemu-riscv64 -cpu "
               "rv64,v=true";
    }
#elif defined(__arm__)
    constexpr unsigned long neon = 1UL << 12;
    constexpr unsigned long vfpv4 = 1UL << 16;
    if ((getauxval(AT_HWCAP) & (neon | vfpv4)) != (neon | vfpv4)) {
        return "this processor does not offer NEON and VFPv4 (HWCAP) that the program was compiled for: use a "
               "Cortex-A7 or newer, or qemu-arm -cpu cortex-a7";
    }
#endif
    return nullptr;
}

/// Describes the vector unit, e.g. "rvv, vlen 128"; empty where the program was not compiled for a known one.
/// Only to be called when missing_cpu_feature() found nothing missing.
inline void describe_vector_unit(char* text, std::size_t size) {
#if defined(__riscv)
    unsigned long vlen_bytes = 0;
    // The number of the register vlenb, so that assemblers without the vector extension take it too.
    __asm__ volatile("csrr %0, 0xc22" : "=r"(vlen_bytes));
    std::snprintf(text, size, "rvv, vlen %lu", vlen_bytes * 8);
#elif defined(__arm__) || defined(__aarch64__)
    std::snprintf(text, size, "neon");
#else
    std::snprintf(text, size, "%s", "");
#endif
}

}  // namespace export_common
