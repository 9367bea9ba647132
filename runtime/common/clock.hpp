// SPDX-License-Identifier: EPL-2.0
// The one clock that all measurements use.
#pragma once

#include <cstdint>
#include <ctime>

namespace export_common {

/// Nanoseconds since some fixed moment; never goes back.
inline std::uint64_t nanoseconds() {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000U + static_cast<std::uint64_t>(now.tv_nsec);
}

}  // namespace export_common
