// SPDX-License-Identifier: EPL-2.0
// Runs, synchronous and asynchronous.
#include "config.hpp"
#include "crc32.hpp"
#include "diagnose.hpp"
#include "runtime.hpp"
#include "zone.hpp"

#include <algorithm>
#include <utility>

using namespace xmedia_sim;

namespace {

/// Strict mode: memory that was given to the runtime must still be there, and hold what it held.
void check_memory(const Graph& graph) {
    const auto still = [](void* address, std::uint64_t physical, const char* what) {
        const auto place = Zone::instance().locate(address);
        if (!place || place->physical != physical) {
            misuse("unmapped address: the %s's memory at %p is no longer mapped", what, address);
        }
    };
    const Model& model = *graph.model;
    if (model.work_bytes > 0) {
        still(graph.workspace.address, graph.workspace_physical, "workspace");
    }
    if (model.weight_bytes > 0) {
        still(graph.weights.address, graph.weights_physical, "weights");
    }
    if (!model.inputs.empty()) {
        still(graph.input.address, graph.input.physical, "input");
    }
    if (!model.outputs.empty()) {
        still(graph.output.address, graph.output.physical, "output");
    }
    for (const Tensor& tensor : model.tensors) {
        std::uint64_t size = tensor.size;
        if (tensor.region == Region::constant &&
            crc32(Zone::instance().device(graph.weights_physical + tensor.offset, &size), tensor.size) != tensor.crc) {
            misuse("weights were overwritten since the model was loaded (tensor %u)", tensor.id);
        }
    }
    const std::uint64_t range = std::uint64_t{graph.bound_batch - 1} * model.input_bytes + graph.input.needed;
    const std::uint64_t bytes = Zone::instance().unflushed(graph.input.physical, range);
    if (bytes > 0) {
        note("%llu bytes of the input were written and not flushed: the NPU does not see them",
             static_cast<unsigned long long>(bytes));
    }
}

/// The device's thread runs callbacks: it cannot wait for itself.
void expect_outside(const char* call) {
    if (Device::is_this_thread()) {
        crash("%s inside a callback never returns", call);
    }
}

Range whole(const Bound& bound, std::uint32_t batch, std::uint32_t item) {
    return {bound.address, bound.range == 0 ? 0 : std::uint64_t{batch - 1} * item + bound.range};
}

/// Checks, flushes, and hands the run to the device.
xmedia_cl_s32 start(xmedia_cl_graph handle, const std::shared_ptr<Event>& event, const char* call) {
    const auto graph = graph_of(handle, call);
    const Model& model = *graph->model;
    Job job;
    {
        const Locked runtime;
        if (!graph->is_bound) {
            misuse("wrong order: %s before xmedia_cl_graph_set_inout", call);
            return failed(XMEDIA_CL_CALL_INTERFUNC_ERR, "%s: xmedia_cl_graph_set_inout was not called", call);
        }
        if (std::count(graph->batches.begin(), graph->batches.end(), graph->bound_batch) !=
            std::ptrdiff_t(graph->batches.size())) {
            misuse("wrong order: the batch size changed after xmedia_cl_graph_set_inout");
        }
        if (config().strict) {
            check_memory(*graph);
        }
        job.model = graph->model;
        job.reference = graph->reference;
        job.record = graph->record;
        job.event = event;
        job.input = {graph->input.physical, graph->input.range == 0};
        job.output = {graph->output.physical, graph->output.range == 0};
        job.workspace = graph->workspace_physical;
        job.batch = graph->bound_batch;
        job.priority = graph->priority;
        ++graph->record->runs;
        const Range input = whole(graph->input, job.batch, model.input_bytes);
        const Range output = whole(graph->output, job.batch, model.output_bytes);
        if (!config().strict) {
            for (const Range& range : {output, input, graph->workspace}) {
                Zone::instance().flush(range.address, range.size);
            }
            job.flush_after = {output, graph->workspace};
        }
        // What lives in the workspace is gone after the run, so the next one needs set_inout again.
        graph->is_bound = !config().strict || model.reuse == 0;
        auto& runs = graph->runs;
        runs.erase(std::remove_if(runs.begin(), runs.end(), [](const auto& run) { return run->over(); }), runs.end());
        runs.push_back(event);
    }
    graph->context->device.submit(std::move(job));
    return XMEDIA_CL_SUCCESS;
}

}  // namespace

xmedia_cl_s32 xmedia_cl_graph_process(xmedia_cl_graph graph) {
    if (graph == nullptr) {
        return failed(XMEDIA_CL_INVALID_VALUE, "xmedia_cl_graph_process: NULL");
    }
    if (fault(Fault::process)) {
        return failed(XMEDIA_CL_CALL_INTERFUNC_ERR, "xmedia_cl_graph_process: fault injected");
    }
    expect_outside("xmedia_cl_graph_process");
    const auto event = std::make_shared<Event>(nullptr);
    const xmedia_cl_s32 code = start(graph, event, "xmedia_cl_graph_process");
    if (code != XMEDIA_CL_SUCCESS) {
        return code;
    }
    if (!event->wait()) {
        return failed(XMEDIA_CL_CALL_INTERFUNC_ERR, "xmedia_cl_graph_process: the job failed");
    }
    return XMEDIA_CL_SUCCESS;
}

xmedia_cl_s32 xmedia_cl_graph_submit(xmedia_cl_graph graph, xmedia_cl_event* event) {
    if (graph == nullptr || event == nullptr) {
        return failed(XMEDIA_CL_INVALID_VALUE, "xmedia_cl_graph_submit: an argument is NULL");
    }
    if (fault(Fault::process)) {
        return failed(XMEDIA_CL_INVALID_EVENT_WAIT_LIST, "xmedia_cl_graph_submit: fault injected");
    }
    const auto handle = static_cast<xmedia_cl_event>(new_handle(Kind::event));
    const auto made = std::make_shared<Event>(handle);
    const xmedia_cl_s32 code = start(graph, made, "xmedia_cl_graph_submit");
    if (code == XMEDIA_CL_SUCCESS) {
        *event = handle;
        Locked()->events[handle] = made;
    }
    return code;
}

xmedia_cl_s32 xmedia_cl_wait_for_events(xmedia_cl_u32 count, xmedia_cl_event* events) {
    if (count == 0 || events == nullptr) {
        return failed(XMEDIA_CL_INVALID_VALUE, "xmedia_cl_wait_for_events: no events");
    }
    if (std::find(events, events + count, nullptr) != events + count) {
        return failed(XMEDIA_CL_INVALID_EVENT_WAIT_LIST, "xmedia_cl_wait_for_events: an event is NULL");
    }
    expect_outside("xmedia_cl_wait_for_events");
    bool completed = true;
    for (xmedia_cl_u32 i = 0; i < count; ++i) {
        completed = event_of(events[i], "xmedia_cl_wait_for_events")->wait() && completed;
    }
    return completed ? XMEDIA_CL_SUCCESS
                     : failed(XMEDIA_CL_WAIT_EVENT_FAILED, "xmedia_cl_wait_for_events: a job failed");
}

xmedia_cl_s32 xmedia_cl_set_event_callback(xmedia_cl_event event, xmedia_cl_s32 status,
                                           void (*notify)(xmedia_cl_event, xmedia_cl_s32, void*), void* user) {
    if (event == nullptr) {
        return failed(XMEDIA_CL_INVALID_EVENT, "xmedia_cl_set_event_callback: NULL");
    }
    if (notify == nullptr || (status != XMEDIA_CL_COMPLETED && status != XMEDIA_CL_FAILED)) {
        return failed(XMEDIA_CL_INVALID_VALUE, "xmedia_cl_set_event_callback: no function, or status %d", status);
    }
    event_of(event, "xmedia_cl_set_event_callback")->on(status, notify, user);
    return XMEDIA_CL_SUCCESS;
}

xmedia_cl_s32 xmedia_cl_query_event_status(xmedia_cl_event event, xmedia_cl_s32* status) {
    if (event == nullptr) {
        return failed(XMEDIA_CL_INVALID_EVENT, "xmedia_cl_query_event_status: NULL");
    }
    if (status == nullptr) {
        return failed(XMEDIA_CL_INVALID_VALUE, "xmedia_cl_query_event_status: status is NULL");
    }
    *status = event_of(event, "xmedia_cl_query_event_status")->status();
    return XMEDIA_CL_SUCCESS;
}

xmedia_cl_s32 xmedia_cl_release_event(xmedia_cl_event event) {
    if (event == nullptr) {
        return failed(XMEDIA_CL_INVALID_EVENT, "xmedia_cl_release_event: NULL");
    }
    if (!event_of(event, "xmedia_cl_release_event")->over()) {
        misuse("wrong order: an event is released while its job runs");
    }
    Locked()->events.erase(event);
    return XMEDIA_CL_SUCCESS;
}
