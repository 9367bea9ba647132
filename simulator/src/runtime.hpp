// SPDX-License-Identifier: EPL-2.0
// State of the NPU runtime in this process: handles and what they stand for.
#pragma once

#include "event.hpp"
#include "job.hpp"
#include "model.hpp"
#include "xmedia_cl.h"

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <vector>

namespace xmedia_sim {

/// Handles are numbers that are not used twice, so that a stale one is noticed.
enum class Kind : std::uintptr_t { device = 1, context = 2, graph = 3, event = 4 };

struct Context {
    xmedia_cl_context handle = nullptr;
    unsigned references = 0;
    void* workspace = nullptr;
    std::uint32_t worksize = 0;
    Device device;
};

/// A tensor block that set_inout was given.
struct Bound {
    void* address = nullptr;
    std::uint64_t physical = 0;
    std::uint64_t range = 0;   // to the end of the last tensor; 0 when that lies before the first
    std::uint64_t needed = 0;  // by the offsets that the model has
};

struct Graph {
    std::shared_ptr<Context> context;
    std::shared_ptr<const Model> model;
    std::shared_ptr<Reference> reference;
    std::shared_ptr<Record> record;
    std::uint64_t block = 0;  // "Npu_Module"
    void* block_address = nullptr;
    Range workspace, weights;
    std::uint64_t workspace_physical = 0, weights_physical = 0;
    bool is_bound = false;
    Bound input, output;
    std::uint32_t bound_batch = 1;
    std::vector<std::uint32_t> batches;  // of each input, for the next set_inout
    std::uint32_t priority = XMEDIA_CL_JOB_SCHEDULE_PRIO_MEDIUM;
    std::vector<std::shared_ptr<Event>> runs;  // that may not be over
};

struct Runtime {
    std::mutex mutex;
    unsigned initialised = 0;
    bool npu_missing = false;
    std::shared_ptr<Context> context;
    std::set<xmedia_cl_device_id> devices;
    std::map<xmedia_cl_graph, std::shared_ptr<Graph>> graphs;
    std::map<xmedia_cl_event, std::shared_ptr<Event>> events;
};

/// The runtime, locked.
class Locked {
public:
    Locked();
    Runtime* operator->() const { return &runtime_; }

private:
    Runtime& runtime_;
    std::lock_guard<std::mutex> lock_;
};

void* new_handle(Kind kind);

/// The graph of a handle; ends the process when there is none (unloaded, or never one).
std::shared_ptr<Graph> graph_of(xmedia_cl_graph handle, const char* call);
std::shared_ptr<Event> event_of(xmedia_cl_event handle, const char* call);

/// In strict mode, complains about calls before xmedia_cl_init.
void expect_initialised(const char* call);

}  // namespace xmedia_sim
