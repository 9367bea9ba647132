// SPDX-License-Identifier: EPL-2.0
// The state of one run that others wait for.
#pragma once

#include "xmedia_cl_common.h"

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <vector>

namespace xmedia_sim {

class Event {
public:
    using Notify = void (*)(xmedia_cl_event, xmedia_cl_s32, void*);

    /// \param handle What the program knows the event by, NULL for synchronous runs.
    explicit Event(xmedia_cl_event handle) : handle_(handle) {}

    void running();

    /// Calls what waits for this status, in this thread, then lets wait() return.
    void finish(bool completed);

    /// Calls at once, in this thread, when the run is over already.
    void on(std::int32_t status, Notify notify, void* user);

    /// \return Whether the run completed.
    bool wait();

    std::int32_t status() const;
    bool over() const { return status() >= XMEDIA_CL_COMPLETED; }

private:
    struct Callback {
        std::int32_t status;
        Notify notify;
        void* user;
    };

    const xmedia_cl_event handle_;
    mutable std::mutex mutex_;
    std::condition_variable over_;
    std::int32_t status_ = XMEDIA_CL_QUEUED;
    bool told_ = false;  // callbacks have run
    std::vector<Callback> callbacks_;
};

}  // namespace xmedia_sim
