// SPDX-License-Identifier: EPL-2.0
// One wrong use per run: strict mode ends the process, otherwise the runtime's behaviour stands.
#include "support.hpp"

#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <string>

namespace {

std::string path;

struct Ready;
/// Released after main(), which is no leak.
std::unique_ptr<Ready> global;

/// A model that ran once.
struct Ready {
    Npu npu;
    Model model{npu, path};
    Ready() {
        model.bind();
        model.fill(1);
        model.input.flush();
        EQUAL(xmedia_cl_graph_process(model.graph), 0);
    }
};

void make_global() {
    global = std::make_unique<Ready>();
}

xmedia_cl_graph load(Npu& npu, Buffer& work, Buffer& weights) {
    xmedia_cl_graph graph = nullptr;
    xmedia_cl_graph_loadmodel_from_file_withmem(&npu.context, path.c_str(), work.data, work.size, weights.data,
                                                weights.size, &graph);
    return graph;
}

void early(const std::function<void()>& before_init) {
    EQUAL(xmedia_sys_init(nullptr), 0);
    before_init();
}

[[noreturn]] void leave() {
    std::exit(0);
}

const std::map<std::string, std::function<void()>> cases = {
    {"init-before-sys", [] { xmedia_cl_init(); }},
    {"devices-before-init",
     [] {
         early([] {
             xmedia_cl_u32 count = 0;
             xmedia_cl_get_device_ids(XMEDIA_CL_DEVICE_ALL, nullptr, &count);
         });
     }},
    {"uninit-without-init", [] { early([] { xmedia_cl_uninit(); }); }},
    {"uninit-with-context",
     [] {
         Npu npu;
         xmedia_cl_uninit();
     }},
    {"sys-exit-before-uninit",
     [] {
         Npu npu;
         xmedia_sys_exit();
     }},
    {"context-before-unload",
     [] {
         auto* ready = new Ready;
         xmedia_cl_release_context(ready->npu.context);
     }},
    {"process-before-set-inout",
     [] {
         Npu npu;
         Model model(npu, path);
         xmedia_cl_graph_process(model.graph);
     }},
    // Right, unless the model keeps its inputs in the workspace.
    {"run-again",
     [] {
         Ready ready;
         xmedia_cl_graph_process(ready.model.graph);
     }},
    {"batch-after-set-inout",
     [] {
         Ready ready;
         xmedia_cl_graph_set_dynamic_batch_size(ready.model.graph, &ready.model.in->info, 0, 2);
         xmedia_cl_graph_process(ready.model.graph);
     }},
    {"batch-does-not-fit",
     [] {
         Ready ready;
         xmedia_cl_graph_set_dynamic_batch_size(ready.model.graph, &ready.model.in->info, 0, 32);
         xmedia_cl_graph_set_dynamic_batch_size(ready.model.graph, &ready.model.in->info, 1, 32);
         xmedia_cl_graph_set_inout(ready.model.graph, &ready.model.in->info, &ready.model.out->info);
     }},
    {"alignment",
     [] {
         Ready ready;
         ready.model.in->tensor[0].addr = ready.model.input.bytes() + 4;
         xmedia_cl_graph_set_inout(ready.model.graph, &ready.model.in->info, &ready.model.out->info);
     }},
    {"packing",
     [] {
         Ready ready;
         const Buffer other(4096);
         ready.model.out->tensor[1].addr = other.data;
         xmedia_cl_graph_set_inout(ready.model.graph, &ready.model.in->info, &ready.model.out->info);
     }},
    {"foreign-address",
     [] {
         Ready ready;
         std::vector<std::uint64_t> heap(64);
         ready.model.in->tensor[0].addr = heap.data();
         xmedia_cl_graph_set_inout(ready.model.graph, &ready.model.in->info, &ready.model.out->info);
     }},
    {"foreign-weights",
     [] {
         Npu npu;
         Buffer work(65536);
         std::vector<std::uint64_t> heap(8192);
         xmedia_cl_graph graph = nullptr;
         xmedia_cl_graph_loadmodel_from_file_withmem(&npu.context, path.c_str(), work.data, work.size, heap.data(),
                                                     65536, &graph);
     }},
    {"small-workspace",
     [] {
         Npu npu;
         Buffer work(8);
         Buffer weights(65536);
         xmedia_cl_graph_unload(load(npu, work, weights));
     }},
    {"unmapped-input",
     [] {
         Ready ready;
         xmedia_mmz_unmap(ready.model.input.data);
         xmedia_cl_graph_process(ready.model.graph);
         leave();
     }},
    {"weights-overwritten",
     [] {
         Ready ready;
         std::memset(ready.model.weights.data, 0, ready.model.weights.size);
         ready.model.weights.flush();
         xmedia_cl_graph_process(ready.model.graph);
     }},
    {"memory-before-unload",
     [] {
         Ready ready;
         xmedia_mmz_unmap(ready.model.workspace.data);
         xmedia_mmz_free(ready.model.workspace.physical);
         ready.model.workspace.data = nullptr;
     }},
    {"unload-while-running",
     [] {
         Npu npu;
         Model model(npu, path);
         model.bind();
         xmedia_cl_event event = nullptr;
         xmedia_cl_graph_submit(model.graph, &event);
     }},
    {"release-running-event",
     [] {
         Ready ready;
         xmedia_cl_event event = nullptr;
         xmedia_cl_graph_submit(ready.model.graph, &event);
         xmedia_cl_release_event(event);
     }},
    {"free-twice",
     [] {
         const xmedia_u64 physical = xmedia_mmz_alloc(nullptr, "twice", 8);
         xmedia_mmz_free(physical);
         xmedia_mmz_free(physical);
     }},
    {"free-while-mapped",
     [] {
         const xmedia_u64 physical = xmedia_mmz_alloc(nullptr, "mapped", 8);
         CHECK(xmedia_mmz_map(physical, 8, XMEDIA_TRUE) != nullptr);
         xmedia_mmz_free(physical);
     }},
    {"unmap-twice",
     [] {
         const xmedia_u64 physical = xmedia_mmz_alloc(nullptr, "twice", 8);
         void* data = xmedia_mmz_map(physical, 8, XMEDIA_TRUE);
         xmedia_mmz_unmap(data);
         xmedia_mmz_unmap(data);
         xmedia_mmz_free(physical);
     }},
    {"flush-foreign",
     [] {
         int stack = 0;
         xmedia_mmz_flush_cache(0x42000000, &stack, 4);
     }},
    {"leak-block", [] { xmedia_mmz_alloc(nullptr, "forgotten", 8); }},
    {"leak-context", [] { new Npu; }},
    {"leak-graph", [] { new Ready; }},
    {"leak-event",
     [] {
         Ready ready;
         xmedia_cl_event event = nullptr;
         xmedia_cl_graph_submit(ready.model.graph, &event);
         xmedia_cl_wait_for_events(1, &event);
     }},
    // Ends the process in any mode.
    {"process-after-unload",
     [] {
         Npu npu;
         Buffer work(65536);
         Buffer weights(65536);
         xmedia_cl_graph graph = load(npu, work, weights);
         xmedia_cl_graph_unload(graph);
         xmedia_cl_graph_process(graph);
     }},
    {"null-context",
     [] {
         xmedia_sys_init(nullptr);
         xmedia_cl_init();
         xmedia_cl_context none = nullptr;
         xmedia_cl_graph graph = nullptr;
         xmedia_cl_graph_loadmodel_from_file(&none, path.c_str(), &graph);
     }},
    {"event-after-release",
     [] {
         Ready ready;
         xmedia_cl_event event = nullptr;
         xmedia_cl_graph_submit(ready.model.graph, &event);
         xmedia_cl_wait_for_events(1, &event);
         xmedia_cl_release_event(event);
         xmedia_cl_s32 status = 0;
         xmedia_cl_query_event_status(event, &status);
     }},
};

}  // namespace

int main(int argc, char** argv) {
    CHECK(argc == 3);
    path = argv[2];
    if (std::string(argv[1]) == "global") {
        make_global();
        return 0;
    }
    if (std::string(argv[1]) == "nothing") {
        const Ready ready;
        return 0;
    }
    cases.at(argv[1])();
    return 0;
}
