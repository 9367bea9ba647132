// SPDX-License-Identifier: EPL-2.0
// Start, devices, contexts.
#include "runtime.hpp"

#include "config.hpp"
#include "diagnose.hpp"
#include "summary.hpp"
#include "system.hpp"

#include <atomic>
#include <cstdio>
#include <utility>

namespace xmedia_sim {
namespace {

constexpr std::uint32_t cpu_devices = 1;

Runtime& instance() {
    // Not destroyed: the device's thread may still run when the process ends.
    static Runtime* const runtime = new Runtime;
    return *runtime;
}

void name_leaks(std::vector<std::string>& alive) {
    const Locked runtime;
    const auto name = [&](std::size_t count, const char* what) {
        if (count > 0) {
            alive.push_back(std::to_string(count) + " " + what);
        }
    };
    name(runtime->graphs.size(), "graph(s) not unloaded");
    name(runtime->events.size(), "event(s) not released");
    name(runtime->context ? 1 : 0, "context not released");
    name(runtime->devices.size(), "device id(s) not released");
    name(runtime->initialised, "xmedia_cl_init without xmedia_cl_uninit");
}

void watch_runtime() {
    static std::once_flag once;
    std::call_once(once, [] {
        at_exit(name_leaks);
        set_system_user([] { return Locked()->initialised > 0; });
    });
    watch_exit();
}

std::uint32_t count_of(xmedia_cl_device_type_e type, bool npu_missing) {
    const std::uint32_t npu = npu_missing ? 0 : 1;
    return type == XMEDIA_CL_DEVICE_CPU ? cpu_devices : type == XMEDIA_CL_DEVICE_NPU ? npu : cpu_devices + npu;
}

}  // namespace

Locked::Locked() : runtime_(instance()), lock_(runtime_.mutex) {}

void* new_handle(Kind kind) {
    static std::atomic<std::uintptr_t> last{0};
    const std::uintptr_t serial = ++last & 0x3FFFFFF;
    return reinterpret_cast<void*>(static_cast<std::uintptr_t>(kind) << 28 | serial << 2);
}

void expect_initialised(const char* call) {
    if (Locked()->initialised == 0) {
        misuse("wrong order: %s before xmedia_cl_init", call);
    }
}

std::shared_ptr<Graph> graph_of(xmedia_cl_graph handle, const char* call) {
    const Locked runtime;
    const auto found = runtime->graphs.find(handle);
    if (found == runtime->graphs.end()) {
        crash("%s: %p is no graph (used after it was unloaded?)", call, handle);
    }
    return found->second;
}

std::shared_ptr<Event> event_of(xmedia_cl_event handle, const char* call) {
    const Locked runtime;
    const auto found = runtime->events.find(handle);
    if (found == runtime->events.end()) {
        crash("%s: %p is no event (used after it was released?)", call, static_cast<void*>(handle));
    }
    return found->second;
}

}  // namespace xmedia_sim

using namespace xmedia_sim;

xmedia_cl_s32 xmedia_cl_init(void) {
    watch_runtime();
    if (!system_started()) {
        misuse("wrong order: xmedia_cl_init before xmedia_sys_init");
    }
    if (fault(Fault::init)) {
        return failed(XMEDIA_CL_CALL_INTERFUNC_ERR, "xmedia_cl_init: fault injected");
    }
    const Locked runtime;
    if (runtime->initialised++ == 0 && !config().quiet) {
        // To stdout, as the board's library does: programs must not take their stdout for their own.
        std::printf("xmedia_cl simulator\n");
    }
    return XMEDIA_CL_SUCCESS;
}

xmedia_cl_s32 xmedia_cl_uninit(void) {
    const Locked runtime;
    if (runtime->context) {
        misuse("wrong order: xmedia_cl_uninit while the context is alive");
        return failed(XMEDIA_CL_INVALID_OPERATION, "xmedia_cl_uninit: the context is alive");
    }
    if (runtime->initialised == 0) {
        misuse("wrong order: xmedia_cl_uninit without xmedia_cl_init");
        return XMEDIA_CL_SUCCESS;
    }
    --runtime->initialised;
    return XMEDIA_CL_SUCCESS;
}

xmedia_cl_s32 xmedia_cl_get_device_ids(xmedia_cl_device_type_e type, xmedia_cl_device_id* devices,
                                       xmedia_cl_u32* count) {
    expect_initialised("xmedia_cl_get_device_ids");
    watch_runtime();
    const Locked runtime;
    const auto number = static_cast<unsigned>(type);
    if (number > static_cast<unsigned>(XMEDIA_CL_DEVICE_ALL)) {
        return failed(XMEDIA_CL_INVALID_DEVICE_TYPE, "xmedia_cl_get_device_ids: type %u", number);
    }
    if (count == nullptr) {
        return failed(XMEDIA_CL_INVALID_VALUE, "xmedia_cl_get_device_ids: count is NULL");
    }
    runtime->npu_missing = fault(Fault::devices);
    if (*count == 0) {
        *count = count_of(type, runtime->npu_missing);
    }
    // No upper bound: a count that was not set to 0 makes this many handles.
    for (std::uint32_t i = 0; devices != nullptr && i < *count; ++i) {
        devices[i] = static_cast<xmedia_cl_device_id>(new_handle(Kind::device));
        runtime->devices.insert(devices[i]);
    }
    return XMEDIA_CL_SUCCESS;
}

xmedia_cl_s32 xmedia_cl_release_device_ids(xmedia_cl_device_id* devices, xmedia_cl_u32* count) {
    if (devices == nullptr || count == nullptr || *count == 0) {
        return failed(XMEDIA_CL_INVALID_DEVICE, "xmedia_cl_release_device_ids: no devices");
    }
    const Locked runtime;
    for (std::uint32_t i = 0; i < *count; ++i) {
        if (runtime->devices.erase(devices[i]) == 0) {
            misuse("release of %p, which is no device id (released twice?)", static_cast<void*>(devices[i]));
        }
    }
    return XMEDIA_CL_SUCCESS;
}

xmedia_cl_context xmedia_cl_create_context(xmedia_cl_u32 count, xmedia_cl_device_id* devices, xmedia_cl_s32* err) {
    expect_initialised("xmedia_cl_create_context");
    watch_runtime();
    xmedia_cl_s32 unused = 0;
    xmedia_cl_s32& code = err != nullptr ? *err : unused;
    const Locked runtime;
    bool good = devices != nullptr && count == count_of(XMEDIA_CL_DEVICE_ALL, runtime->npu_missing);
    for (std::uint32_t i = 0; good && i < count; ++i) {
        good = devices[i] != nullptr;
        if (good && runtime->devices.count(devices[i]) == 0) {
            crash("xmedia_cl_create_context: %p is no device id", static_cast<void*>(devices[i]));
        }
    }
    if (!good) {
        code = failed(XMEDIA_CL_INVALID_VALUE, "xmedia_cl_create_context: not all devices (use XMEDIA_CL_DEVICE_ALL)");
        return nullptr;
    }
    if (runtime->npu_missing) {
        code = failed(XMEDIA_CL_INVALID_DEVICE, "xmedia_cl_create_context: no NPU");
        return nullptr;
    }
    if (fault(Fault::context)) {
        code = failed(XMEDIA_CL_OUT_OF_HOST_MEMORY, "xmedia_cl_create_context: fault injected");
        return nullptr;
    }
    if (!runtime->context) {
        runtime->context = std::make_shared<Context>();
        runtime->context->handle = static_cast<xmedia_cl_context>(new_handle(Kind::context));
    }
    ++runtime->context->references;
    code = XMEDIA_CL_SUCCESS;
    return runtime->context->handle;
}

xmedia_cl_s32 xmedia_cl_release_context(xmedia_cl_context context) {
    std::shared_ptr<Context> last;
    {
        const Locked runtime;
        if (context == nullptr || !runtime->context || runtime->context->handle != context) {
            return failed(XMEDIA_CL_INVALID_CONTEXT, "xmedia_cl_release_context: no context");
        }
        if (--runtime->context->references > 0) {
            return XMEDIA_CL_SUCCESS;
        }
        if (!runtime->graphs.empty()) {
            misuse("wrong order: the context is released before %zu of its graphs are unloaded",
                   runtime->graphs.size());
        }
        last = std::exchange(runtime->context, nullptr);
    }
    // Not under the lock: the device's thread ends here, and its callbacks may call the runtime.
    last.reset();
    return XMEDIA_CL_SUCCESS;
}
