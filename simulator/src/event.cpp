// SPDX-License-Identifier: EPL-2.0
#include "event.hpp"

#include <utility>

namespace xmedia_sim {

void Event::running() {
    const std::lock_guard lock(mutex_);
    status_ = XMEDIA_CL_RUNNING;
}

void Event::finish(bool completed) {
    std::vector<Callback> callbacks;
    const std::int32_t status = completed ? XMEDIA_CL_COMPLETED : XMEDIA_CL_FAILED;
    {
        const std::lock_guard lock(mutex_);
        status_ = status;
        callbacks = std::move(callbacks_);
        callbacks_.clear();
    }
    // Without the lock: a callback may ask for the status, or submit the next run.
    for (const Callback& callback : callbacks) {
        if (callback.status == status) {
            callback.notify(handle_, status, callback.user);
        }
    }
    const std::lock_guard lock(mutex_);
    told_ = true;
    over_.notify_all();
}

void Event::on(std::int32_t status, Notify notify, void* user) {
    {
        const std::lock_guard lock(mutex_);
        if (status_ < XMEDIA_CL_COMPLETED) {
            callbacks_.push_back({status, notify, user});
            return;
        }
        if (status_ != status) {
            return;
        }
    }
    notify(handle_, status, user);
}

bool Event::wait() {
    std::unique_lock lock(mutex_);
    over_.wait(lock, [&] { return told_; });
    return status_ == XMEDIA_CL_COMPLETED;
}

std::int32_t Event::status() const {
    const std::lock_guard lock(mutex_);
    return status_;
}

}  // namespace xmedia_sim
