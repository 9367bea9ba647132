// SPDX-License-Identifier: EPL-2.0
// What the environment asks of the simulator: read once, at the first call.
#pragma once

#include <cstdint>
#include <string>

namespace xmedia_sim {

struct Config {
    bool strict = false;           // XMEDIA_SIM_STRICT
    bool quiet = false;            // XMEDIA_SIM_QUIET
    std::string summary;           // XMEDIA_SIM_SUMMARY: "" none, "1" stderr, else a file
    std::uint32_t zone_mb = 224;   // XMEDIA_SIM_MMZ_MB: what the board with 256 MB has
    std::uint32_t latency_us = 0;  // XMEDIA_SIM_LATENCY_US, of each job
    std::uint32_t poll_us = 1000;  // XMEDIA_SIM_POLL_US: a job that never starts is given up after 100 of them
};

const Config& config();

/// What XMEDIA_SIM_FAULT can make fail, by the name that it has there.
enum class Fault {
    sys,
    init,
    devices,
    context,
    query,
    alloc,
    map,
    flush,
    load,
    tensors,
    setinout,
    process,
    abort,
    timeout,
    hang,
    unload,
    count_
};

/// Counts a call, and says whether it is one that is to fail.
bool fault(Fault kind);

}  // namespace xmedia_sim
