// SPDX-License-Identifier: EPL-2.0
// The NPU of the process: started by the first session, stopped after the last. Holds the one context, and the
// workspace that sessions may share.
#pragma once

#include <xmedia_cl.h>
#include <xmedia_sys.h>

#include <cstdint>
#include <mutex>

#include "xmedia/failure.hpp"
#include "xmedia/mmz.hpp"

namespace export_xmedia {

class Device {
public:
    constexpr Device() = default;
    Device(const Device&) = delete;
    Device& operator=(const Device&) = delete;

    /// Starts the NPU, or counts one more user.
    bool acquire() {
        const std::lock_guard<std::mutex> lock(mutex_);
        if (users_ == 0 && !start()) {
            stop();
            return false;
        }
        ++users_;
        return true;
    }

    /// Counts one user less; stops the NPU after the last.
    /// \return The first thing the library had to complain of.
    Complaint release() {
        const std::lock_guard<std::mutex> lock(mutex_);
        return --users_ == 0 ? stop() : Complaint{};
    }

    xmedia_cl_context* context() { return &context_; }

    /// The workspace that sessions share, allocated at the first call.
    bool shared_workspace(std::uint32_t bytes, bool cached, void** data, std::uint32_t* size) {
        const std::lock_guard<std::mutex> lock(mutex_);
        if (workspace_.data() == nullptr) {
            if (!workspace_.allocate("npu_workspace", bytes, cached)) {
                return false;
            }
            const int code = xmedia_cl_set_workspace_addr(context_, workspace_.data(), workspace_.bytes());
            if (code != 0) {
                workspace_.release();
                return fail(Stage::memory, "xmedia_cl_set_workspace_addr", code);
            }
        }
        return check(Stage::memory, "xmedia_cl_get_workspace_addr", xmedia_cl_get_workspace_addr(context_, data, size));
    }

    /// Takes the shared workspace for a run. Whoever has it may take it again.
    bool claim(const void* who) {
        const std::lock_guard<std::mutex> lock(mutex_);
        if (claimed_by_ != nullptr && claimed_by_ != who) {
            return fail_text(Stage::run, "another session is running in the shared workspace: wait for it first");
        }
        claimed_by_ = who;
        return true;
    }

    void unclaim(const void* who) {
        const std::lock_guard<std::mutex> lock(mutex_);
        claimed_by_ = claimed_by_ == who ? nullptr : claimed_by_;
    }

private:
    static constexpr xmedia_cl_u32 max_devices = 16;

    bool start() {
        if (!check(Stage::system, "xmedia_sys_init", xmedia_sys_init(nullptr))) {
            return false;
        }
        started_ = 1;
        if (!check(Stage::system, "xmedia_cl_init", xmedia_cl_init())) {
            return false;
        }
        started_ = 2;
        return find_devices() && create_context();
    }

    bool find_devices() {
        xmedia_cl_u32 count = 0;  // the library leaves any other number alone
        int code = xmedia_cl_get_device_ids(XMEDIA_CL_DEVICE_ALL, nullptr, &count);
        if (code != 0) {
            return fail(Stage::device, "xmedia_cl_get_device_ids", code);
        }
        if (count < 2 || count > max_devices) {
            return fail_text(Stage::device, "xmedia_cl_get_device_ids: %u devices, CPU and NPU are at least 2: %s",
                             count, hint(Stage::device, -33));
        }
        code = xmedia_cl_get_device_ids(XMEDIA_CL_DEVICE_ALL, devices_, &count);
        device_count_ = code == 0 ? count : 0;
        return check(Stage::device, "xmedia_cl_get_device_ids", code);
    }

    bool create_context() {
        xmedia_cl_s32 code = 0;
        context_ = xmedia_cl_create_context(device_count_, devices_, &code);
        constexpr int invalid_context = -34;
        return context_ != nullptr ||
               fail(Stage::device, "xmedia_cl_create_context", code != 0 ? code : invalid_context);
    }

    Complaint stop() {
        Complaint first;
        if (context_ != nullptr) {
            first.note("xmedia_cl_release_context", xmedia_cl_release_context(context_));
            context_ = nullptr;
        }
        workspace_.release();
        if (device_count_ != 0) {
            first.note("xmedia_cl_release_device_ids", xmedia_cl_release_device_ids(devices_, &device_count_));
            device_count_ = 0;
        }
        if (started_ > 1) {
            first.note("xmedia_cl_uninit", xmedia_cl_uninit());
        }
        if (started_ > 0) {
            first.note("xmedia_sys_exit", xmedia_sys_exit());
        }
        started_ = 0;
        return first;
    }

    std::mutex mutex_;
    unsigned users_ = 0;
    int started_ = 0;  ///< 1: the media system, 2: the NPU's library as well
    xmedia_cl_device_id devices_[max_devices] = {};
    xmedia_cl_u32 device_count_ = 0;
    xmedia_cl_context context_ = nullptr;
    MmzBlock workspace_;
    const void* claimed_by_ = nullptr;
};

/// The one of this process.
inline Device device;

}  // namespace export_xmedia
