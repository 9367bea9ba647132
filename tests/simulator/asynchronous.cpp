// SPDX-License-Identifier: EPL-2.0
// Submitted runs: callbacks, order, failures.
#include "support.hpp"

#include <atomic>
#include <chrono>
#include <string>
#include <thread>

namespace {

struct Told {
    std::atomic<int> completed{0}, failed{0};
    std::thread::id thread;
};

void told(xmedia_cl_event, xmedia_cl_s32 status, void* user) {
    auto* to = static_cast<Told*>(user);
    to->thread = std::this_thread::get_id();
    ++(status == XMEDIA_CL_COMPLETED ? to->completed : to->failed);
}

void watch(xmedia_cl_event event, Told& by) {
    EQUAL(xmedia_cl_set_event_callback(event, XMEDIA_CL_COMPLETED, told, &by), 0);
    EQUAL(xmedia_cl_set_event_callback(event, XMEDIA_CL_FAILED, told, &by), 0);
}

xmedia_cl_s32 status_of(xmedia_cl_event event) {
    xmedia_cl_s32 status = -1;
    EQUAL(xmedia_cl_query_event_status(event, &status), 0);
    return status;
}

/// XMEDIA_SIM_LATENCY_US is long enough for submit to return first.
void completes(Model& model) {
    model.fill(1);
    EQUAL(xmedia_cl_graph_process(model.graph), 0);
    const auto synchronous = model.result();
    model.fill(2);
    EQUAL(xmedia_cl_graph_process(model.graph), 0);
    CHECK(model.result() != synchronous);
    model.fill(1);
    Told by;
    xmedia_cl_event event = nullptr;
    EQUAL(xmedia_cl_graph_submit(model.graph, &event), 0);
    CHECK(status_of(event) < XMEDIA_CL_COMPLETED);
    watch(event, by);
    EQUAL(by.completed, 0);
    EQUAL(xmedia_cl_wait_for_events(1, &event), 0);
    EQUAL(by.completed, 1);
    EQUAL(by.failed, 0);
    CHECK(by.thread != std::this_thread::get_id());
    CHECK(model.result() == synchronous);
    // When it is over, a callback runs at once, here.
    watch(event, by);
    EQUAL(by.completed, 2);
    CHECK(by.thread == std::this_thread::get_id());
    EQUAL(status_of(event), XMEDIA_CL_COMPLETED);
    EQUAL(xmedia_cl_release_event(event), 0);
}

std::atomic<int> order_count{0};
int order[3];

void note_order(xmedia_cl_event, xmedia_cl_s32, void* user) {
    order[order_count++] = *static_cast<int*>(user);
}

void priorities(Model& model, Model& urgent) {
    EQUAL(xmedia_cl_graph_set_schedule_prio(urgent.graph, XMEDIA_CL_JOB_SCHEDULE_PRIO_HIGH), 0);
    xmedia_cl_event events[3] = {};
    int names[3] = {0, 1, 2};
    EQUAL(xmedia_cl_graph_submit(model.graph, &events[0]), 0);
    while (status_of(events[0]) != XMEDIA_CL_RUNNING) {
        std::this_thread::yield();
    }
    EQUAL(xmedia_cl_graph_submit(model.graph, &events[1]), 0);
    EQUAL(xmedia_cl_graph_submit(urgent.graph, &events[2]), 0);
    for (int i = 0; i < 3; ++i) {
        EQUAL(xmedia_cl_set_event_callback(events[i], XMEDIA_CL_COMPLETED, note_order, &names[i]), 0);
    }
    EQUAL(xmedia_cl_wait_for_events(3, events), 0);
    CHECK(order[0] == 0 && order[1] == 2 && order[2] == 1);
    for (const xmedia_cl_event event : events) {
        EQUAL(xmedia_cl_release_event(event), 0);
    }
}

/// XMEDIA_SIM_FAULT is abort or timeout.
void fails(Model& model) {
    Told by;
    xmedia_cl_event event = nullptr;
    EQUAL(xmedia_cl_graph_process(model.graph), -67);
    EQUAL(xmedia_cl_graph_submit(model.graph, &event), 0);
    watch(event, by);
    EQUAL(xmedia_cl_wait_for_events(1, &event), -56);
    EQUAL(by.failed, 1);
    EQUAL(by.completed, 0);
    EQUAL(status_of(event), XMEDIA_CL_FAILED);
    EQUAL(xmedia_cl_release_event(event), 0);
}

struct Chain {
    xmedia_cl_graph graph;
    std::atomic<int> left;
};

/// A callback may submit the next run, and release its own event.
void next(xmedia_cl_event event, xmedia_cl_s32, void* user) {
    auto* chain = static_cast<Chain*>(user);
    EQUAL(xmedia_cl_release_event(event), 0);
    if (chain->left > 1) {
        xmedia_cl_event following = nullptr;
        EQUAL(xmedia_cl_graph_submit(chain->graph, &following), 0);
        EQUAL(xmedia_cl_set_event_callback(following, XMEDIA_CL_COMPLETED, next, chain), 0);
    }
    --chain->left;
}

void chained(Model& model) {
    Chain chain{model.graph, {5}};
    xmedia_cl_event event = nullptr;
    EQUAL(xmedia_cl_graph_submit(model.graph, &event), 0);
    EQUAL(xmedia_cl_set_event_callback(event, XMEDIA_CL_COMPLETED, next, &chain), 0);
    while (chain.left > 0) {
        std::this_thread::yield();
    }
}

/// Never returns, as the thread would wait for itself.
void waits_for_itself(Model& model) {
    xmedia_cl_event event = nullptr;
    EQUAL(xmedia_cl_graph_submit(model.graph, &event), 0);
    const auto wait = [](xmedia_cl_event, xmedia_cl_s32, void* graph) { xmedia_cl_graph_process(graph); };
    EQUAL(xmedia_cl_set_event_callback(event, XMEDIA_CL_COMPLETED, wait, model.graph), 0);
    EQUAL(xmedia_cl_wait_for_events(1, &event), 0);
}

/// XMEDIA_SIM_FAULT is hang.
[[noreturn]] void hangs(Model& model) {
    xmedia_cl_event event = nullptr;
    EQUAL(xmedia_cl_graph_submit(model.graph, &event), 0);
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    EQUAL(status_of(event), XMEDIA_CL_RUNNING);
    std::_Exit(0);
}

/// XMEDIA_SIM_FAULT is process.
void refused(Model& model) {
    xmedia_cl_event event = nullptr;
    EQUAL(xmedia_cl_graph_process(model.graph), -67);
    EQUAL(xmedia_cl_graph_submit(model.graph, &event), -57);
    CHECK(event == nullptr);
}

}  // namespace

int main(int argc, char** argv) {
    CHECK(argc == 3);
    const std::string what = argv[1];
    Npu npu;
    Model model(npu, argv[2]);
    Model other(npu, argv[2]);
    model.bind();
    other.bind();
    if (what == "completes") {
        completes(model);
        priorities(model, other);
        chained(model);
    } else if (what == "waits-for-itself") {
        waits_for_itself(model);
    } else if (what == "hangs") {
        hangs(model);
    } else if (what == "fails") {
        fails(model);
    } else {
        refused(model);
    }
    return 0;
}
