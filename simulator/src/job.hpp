// SPDX-License-Identifier: EPL-2.0
// One run of a model on the device, and the thread that is the device.
#pragma once

#include "event.hpp"
#include "model.hpp"
#include "reference.hpp"
#include "summary.hpp"

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace xmedia_sim {

/// Memory as the program sees it.
struct Range {
    void* address = nullptr;
    std::uint64_t size = 0;
};

/// Where the device finds the tensors of a direction: each at `base` plus its offset.
struct Port {
    std::uint64_t base = 0;
    bool empty = true;  // the range ends before it begins: nothing is read or written
};

/// All that a run needs, so that the graph may be bound anew while it waits.
struct Job {
    std::shared_ptr<const Model> model;
    std::shared_ptr<Reference> reference;
    std::shared_ptr<Record> record;
    std::shared_ptr<Event> event;
    Port input, output;
    std::uint64_t workspace = 0;
    std::uint32_t batch = 1;
    std::uint32_t priority = 1;
    std::vector<Range> flush_after;
};

class Device {
public:
    ~Device();

    /// Higher priorities first, the others in order.
    void submit(Job job);

    /// Whether the caller is a callback.
    static bool is_this_thread();

private:
    void loop();
    bool run(const Job& job);
    bool run_item(const Job& job, std::uint32_t item);

    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<Job> waiting_;
    bool stopping_ = false;
    std::thread thread_;
};

}  // namespace xmedia_sim
