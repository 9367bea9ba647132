// SPDX-License-Identifier: EPL-2.0
// One run of a graph, waited for at once or later.
#pragma once

#include <sched.h>
#include <xmedia_cl.h>

#include <atomic>
#include <ctime>

#include "xmedia/failure.hpp"

namespace export_xmedia {

/// Called once when a job has ended, in a thread of the library or in the submitting one. The outputs are not readable
/// before wait(), which must be called elsewhere.
using Callback = void (*)(bool ok, void* user);

class Job {
public:
    constexpr Job() = default;
    Job(const Job&) = delete;
    Job& operator=(const Job&) = delete;

    bool pending() const { return event_ != nullptr; }

    bool submit(xmedia_cl_graph graph, Callback callback, void* user) {
        callback_ = callback;
        user_ = user;
        called_ = callback == nullptr ? State::done : State::waiting;
        if (!check(Stage::run, "xmedia_cl_graph_submit", xmedia_cl_graph_submit(graph, &event_))) {
            event_ = nullptr;
            return false;
        }
        if (callback == nullptr) {
            return true;
        }
        for (const int status : {status_completed, status_failed}) {
            const int code = xmedia_cl_set_event_callback(event_, status, &Job::notify, this);
            if (code != 0) {
                called_ = State::done;
                end();
                return fail(Stage::run, "xmedia_cl_set_event_callback", code);
            }
        }
        return true;
    }

    /// Waits until the job has ended and its callback has returned.
    bool wait() {
        xmedia_cl_s32 status = status_completed;
        const int waited = xmedia_cl_wait_for_events(1, &event_);
        const int queried = xmedia_cl_query_event_status(event_, &status);
        wait_for_callback(waited == 0 && queried == 0);
        const int released = xmedia_cl_release_event(event_);
        event_ = nullptr;
        if (waited == 0 && queried == 0 && status == status_failed) {
            return fail(Stage::run, "xmedia_cl_graph_submit", job_failed);
        }
        return check(Stage::run, "xmedia_cl_wait_for_events", waited) &&
               check(Stage::run, "xmedia_cl_query_event_status", queried) &&
               check(Stage::run, "xmedia_cl_release_event", released);
    }

    /// Waits, whatever comes of it.
    void end() {
        if (pending()) {
            xmedia_cl_wait_for_events(1, &event_);
            wait_for_callback(false);
            xmedia_cl_release_event(event_);
            event_ = nullptr;
        }
    }

private:
    enum class State { waiting, running, done };
    static constexpr int status_completed = 3;
    static constexpr int status_failed = 4;
    static constexpr int job_failed = -67;

    static void notify(xmedia_cl_event, xmedia_cl_s32 status, void* self) {
        Job& job = *static_cast<Job*>(self);
        State expected = State::waiting;
        if (job.called_.compare_exchange_strong(expected, State::running)) {
            job.callback_(status == status_completed, job.user_);
            job.called_ = State::done;
        }
    }

    /// The library may wake the waiting thread before it calls back; the job must outlive that call.
    /// \param certain Whether the call will come.
    void wait_for_callback(bool certain) {
        constexpr int patience = 1000;
        for (int turn = 0; called_ != State::done && (certain || called_ == State::running || turn < patience);
             ++turn) {
            const timespec millisecond{0, 1'000'000};
            if (turn < patience / 10) {
                sched_yield();
            } else {
                nanosleep(&millisecond, nullptr);
            }
        }
    }

    xmedia_cl_event event_ = nullptr;
    Callback callback_ = nullptr;
    void* user_ = nullptr;
    std::atomic<State> called_{State::done};
};

}  // namespace export_xmedia
