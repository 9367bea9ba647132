// SPDX-License-Identifier: EPL-2.0
// xmedia_sys.h: nothing to start here; the order of calls is checked.
#include "system.hpp"

#include "config.hpp"
#include "diagnose.hpp"
#include "summary.hpp"
#include "xmedia_sys.h"

#include <atomic>
#include <mutex>

namespace xmedia_sim {
namespace {

std::atomic<unsigned> starts{0};
std::atomic<bool (*)()> system_user{nullptr};

}  // namespace

bool system_started() {
    return starts > 0;
}
void set_system_user(bool (*in_use)()) {
    system_user = in_use;
}

}  // namespace xmedia_sim

using namespace xmedia_sim;

xmedia_s32 xmedia_sys_init(const xmedia_sys_config* /*config*/) {
    watch_exit();
    if (fault(Fault::sys)) {
        return failed(XMEDIA_FAILURE, "xmedia_sys_init: fault injected");
    }
    static std::once_flag once;
    std::call_once(once, [] {
        at_exit([](std::vector<std::string>& alive) {
            if (system_started()) {
                alive.emplace_back("xmedia_sys_exit was not called");
            }
        });
    });
    ++starts;
    return XMEDIA_SUCCESS;
}

xmedia_s32 xmedia_sys_exit(void) {
    const auto in_use = system_user.load();
    if (in_use != nullptr && in_use()) {
        misuse("wrong order: xmedia_sys_exit before xmedia_cl_uninit");
    }
    // Samples call it before they start, to clean up after a crash: without effect.
    unsigned count = starts;
    while (count > 0 && !starts.compare_exchange_weak(count, count - 1)) {
    }
    return XMEDIA_SUCCESS;
}
