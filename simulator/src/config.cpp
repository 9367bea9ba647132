// SPDX-License-Identifier: EPL-2.0
#include "config.hpp"

#include "diagnose.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <vector>

namespace xmedia_sim {
namespace {

constexpr std::size_t kinds = static_cast<std::size_t>(Fault::count_);
constexpr std::array<std::string_view, kinds> names = {"sys",   "init",    "devices", "context", "query",    "alloc",
                                                       "map",   "flush",   "load",    "tensors", "setinout", "process",
                                                       "abort", "timeout", "hang",    "unload"};

const char* text(const char* name) {
    const char* value = std::getenv(name);
    return value == nullptr ? "" : value;
}

bool enabled(const char* name) {
    const std::string_view value = text(name);
    return !value.empty() && value != "0";
}

std::uint32_t number(const char* name, std::uint32_t fallback, std::uint32_t largest) {
    const char* value = text(name);
    if (*value == '\0') {
        return fallback;
    }
    char* end = nullptr;
    const unsigned long long parsed = std::strtoull(value, &end, 10);
    if (*end != '\0' || *value == '-' || parsed > largest) {
        stop("%s=%s is not a number from 0 to %u", name, value, largest);
    }
    return static_cast<std::uint32_t>(parsed);
}

struct Plan {
    std::vector<std::uint32_t> calls;  // 0: all
    std::atomic<std::uint32_t> seen{0};
};

struct Plans {
    std::array<Plan, kinds> of;

    Plans() {
        const std::string_view all = text("XMEDIA_SIM_FAULT");
        for (std::size_t begin = 0; begin < all.size();) {
            const std::size_t end = std::min(all.find(',', begin), all.size());
            add(all.substr(begin, end - begin));
            begin = end + 1;
        }
    }

    void add(std::string_view item) {
        const std::size_t colon = item.find(':');
        const std::string_view name = item.substr(0, colon);
        std::uint32_t call = 0;
        bool good = true;
        if (colon != std::string_view::npos) {
            const std::string digits(item.substr(colon + 1));
            char* end = nullptr;
            const unsigned long parsed = std::strtoul(digits.c_str(), &end, 10);
            good = !digits.empty() && *end == '\0' && parsed > 0 && parsed < 0xFFFFFFFFUL;
            call = static_cast<std::uint32_t>(parsed);
        }
        for (std::size_t kind = 0; kind < kinds && good; ++kind) {
            if (name == names[kind]) {
                of[kind].calls.push_back(call);
                return;
            }
        }
        // A fault that is not injected would make a test pass that should not.
        stop("XMEDIA_SIM_FAULT: '%s' is not a fault", std::string(item).c_str());
    }
};

}  // namespace

const Config& config() {
    // Not destroyed: other objects' destructors may still call the simulator.
    static const Config* const made = [] {
        auto* read = new Config;
        read->strict = enabled("XMEDIA_SIM_STRICT");
        read->quiet = enabled("XMEDIA_SIM_QUIET");
        read->summary = enabled("XMEDIA_SIM_SUMMARY") ? text("XMEDIA_SIM_SUMMARY") : "";
        read->zone_mb = number("XMEDIA_SIM_MMZ_MB", read->zone_mb, 512);
        read->latency_us = number("XMEDIA_SIM_LATENCY_US", read->latency_us, 1000000000);
        read->poll_us = number("XMEDIA_SIM_POLL_US", read->poll_us, 10000000);
        return read;
    }();
    return *made;
}

bool fault(Fault kind) {
    static Plans* const plans = new Plans;
    Plan& plan = plans->of[static_cast<std::size_t>(kind)];
    const std::uint32_t call = ++plan.seen;
    for (const std::uint32_t wanted : plan.calls) {
        if (wanted == 0 || wanted == call) {
            return true;
        }
    }
    return false;
}

}  // namespace xmedia_sim
