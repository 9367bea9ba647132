// SPDX-License-Identifier: EPL-2.0
// Loading and unloading of models.
#include "config.hpp"
#include "diagnose.hpp"
#include "runtime.hpp"
#include "xmedia_mmz.h"
#include "zone.hpp"

#include <cstdio>
#include <cstring>
#include <utility>

using namespace xmedia_sim;

namespace {

struct UserMemory {
    void* workspace;
    xmedia_cl_u32 worksize;
    void* weights;
    xmedia_cl_u32 weightsize;
};

/// Checks memory of the caller. The size of the workspace is not checked by the runtime.
xmedia_cl_s32 take(const UserMemory& memory, Graph& graph) {
    const Model& model = *graph.model;
    if (memory.weightsize < model.weight_bytes) {
        return failed(XMEDIA_CL_CALL_INTERFUNC_ERR, "xmedia_cl_graph_loadmodel: %u bytes for %u of weights",
                      memory.weightsize, model.weight_bytes);
    }
    const auto workspace = Zone::instance().locate(memory.workspace);
    const auto weights = Zone::instance().locate(memory.weights);
    if (!workspace || !weights) {
        misuse("foreign address: workspace or weights are not in mapped MMZ memory");
        return failed(XMEDIA_FAILURE, "xmedia_cl_graph_loadmodel: memory is not from the MMZ");
    }
    if (workspace->physical % 8 != 0 || weights->physical % 8 != 0) {
        misuse("alignment: workspace or weights are not at a multiple of 8 bytes");
        return failed(XMEDIA_CL_ERROR_ADDR_ALIGN, "xmedia_cl_graph_loadmodel: memory is not at a multiple of 8");
    }
    if (memory.worksize < model.work_bytes || workspace->room < model.work_bytes) {
        misuse("the workspace has %u bytes (mapped %llu), the model needs %u", memory.worksize,
               static_cast<unsigned long long>(workspace->room), model.work_bytes);
    }
    if (weights->room < model.weight_bytes) {
        crash("%u bytes of weights in a mapping that ends after %llu", model.weight_bytes,
              static_cast<unsigned long long>(weights->room));
    }
    graph.workspace = {memory.workspace, memory.worksize};
    graph.weights = {memory.weights, model.weight_bytes};
    graph.workspace_physical = workspace->physical;
    graph.weights_physical = weights->physical;
    return XMEDIA_CL_SUCCESS;
}

/// The block that the runtime allocates: the code, then what the caller does not bring.
xmedia_cl_s32 allocate(Graph& graph, bool all) {
    const Model& model = *graph.model;
    const std::uint64_t size =
        std::uint64_t{model.code_bytes} + (all ? std::uint64_t{model.work_bytes} + model.weight_bytes : 0);
    if (size > 0xFFFFFFFFU) {
        return failed(XMEDIA_CL_OUT_OF_HOST_MEMORY, "xmedia_cl_graph_loadmodel: the model is too large");
    }
    const auto bytes = static_cast<xmedia_u32>(size == 0 ? 8 : size);
    graph.block = xmedia_mmz_alloc(nullptr, "Npu_Module", bytes);
    graph.block_address = graph.block == 0 ? nullptr : xmedia_mmz_map(graph.block, bytes, XMEDIA_TRUE);
    if (graph.block_address == nullptr) {
        if (graph.block != 0) {
            xmedia_mmz_free(graph.block);
        }
        return failed(XMEDIA_CL_OUT_OF_HOST_MEMORY, "xmedia_cl_graph_loadmodel: no memory for the module");
    }
    if (all) {
        auto* start = static_cast<std::uint8_t*>(graph.block_address);
        graph.workspace = {start + model.code_bytes, model.work_bytes};
        graph.weights = {start + model.code_bytes + model.work_bytes, model.weight_bytes};
        graph.workspace_physical = graph.block + model.code_bytes;
        graph.weights_physical = graph.workspace_physical + model.work_bytes;
    }
    return XMEDIA_CL_SUCCESS;
}

void copy_in(const Graph& graph) {
    const Model& model = *graph.model;
    auto* code = static_cast<std::uint8_t*>(graph.block_address);
    for (const Program& program : model.programs) {
        std::memcpy(code, model.file.data() + program.file_offset, program.size);
        code += program.size;
    }
    auto* weights = static_cast<std::uint8_t*>(graph.weights.address);
    for (const Tensor& tensor : model.tensors) {
        if (tensor.region == Region::constant && tensor.size > 0) {
            std::memcpy(weights + tensor.offset, model.file.data() + tensor.file_offset, tensor.size);
        }
    }
    Zone::instance().flush(graph.block_address, model.code_bytes);
    Zone::instance().flush(graph.weights.address, graph.weights.size);
}

void give_back(const Graph& graph) {
    xmedia_mmz_unmap(graph.block_address);
    xmedia_mmz_free(graph.block);
}

std::shared_ptr<Record> record_of(const Model& model) {
    auto record = std::make_shared<Record>();
    record->path = model.path.empty() ? "(buffer)" : model.path;
    record->code = model.code_bytes;
    record->weights = model.weight_bytes;
    record->workspace = model.work_bytes;
    record->input = model.input_bytes;
    record->output = model.output_bytes;
    add_record(record);
    return record;
}

xmedia_cl_s32 load(xmedia_cl_context* context, const char* path, const char* buffer, const UserMemory* memory,
                   xmedia_cl_graph* out) {
    const bool no_memory = memory != nullptr && (memory->workspace == nullptr || memory->weights == nullptr);
    if (context == nullptr || (path == nullptr && buffer == nullptr) || out == nullptr || no_memory) {
        return failed(XMEDIA_CL_INVALID_VALUE, "xmedia_cl_graph_loadmodel: an argument is NULL");
    }
    expect_initialised("xmedia_cl_graph_loadmodel");
    auto graph = std::make_shared<Graph>();
    {
        const Locked runtime;
        if (!runtime->context || runtime->context->handle != *context) {
            crash("xmedia_cl_graph_loadmodel: %p is no context", static_cast<void*>(*context));
        }
        graph->context = runtime->context;
    }
    std::int32_t code = XMEDIA_CL_READ_MODEL_FAIL;
    const auto model = fault(Fault::load) ? nullptr : read_model(path, buffer, &code);
    code = model ? check_contents(*model) : code;
    if (code != XMEDIA_CL_SUCCESS) {
        return failed(code, "xmedia_cl_graph_loadmodel: %s", path != nullptr ? path : "buffer");
    }
    graph->model = model;
    if (memory != nullptr) {
        code = take(*memory, *graph);
    }
    if (code == XMEDIA_CL_SUCCESS) {
        code = allocate(*graph, memory == nullptr);
    }
    if (code != XMEDIA_CL_SUCCESS) {
        return code;
    }
    copy_in(*graph);
    model->file = {};
    if (model->native_programs) {
        note("%s holds programs for the CPU, which are not run here", model->path.c_str());
    }
    if (!config().quiet) {
        // To stdout, as the board's library does.
        std::printf("xmedia_cl simulator: model of '%s', type %u\n", model->compiler.c_str(), model->type);
    }
    graph->record = record_of(*model);
    graph->reference = std::make_shared<Reference>(model, graph->record);
    graph->batches.assign(model->inputs.size(), 1);
    const Locked runtime;
    *out = new_handle(Kind::graph);
    runtime->graphs[*out] = graph;
    return XMEDIA_CL_SUCCESS;
}

}  // namespace

xmedia_cl_s32 xmedia_cl_graph_loadmodel_from_file(xmedia_cl_context* context, const char* path,
                                                  xmedia_cl_graph* graph) {
    return load(context, path, nullptr, nullptr, graph);
}

xmedia_cl_s32 xmedia_cl_graph_loadmodel_from_buff(xmedia_cl_context* context, const char* model,
                                                  xmedia_cl_graph* graph) {
    return load(context, nullptr, model, nullptr, graph);
}

xmedia_cl_s32 xmedia_cl_graph_loadmodel_from_file_withmem(xmedia_cl_context* context, const char* path, void* workspace,
                                                          xmedia_cl_u32 worksize, void* weight,
                                                          xmedia_cl_u32 weightsize, xmedia_cl_graph* graph) {
    const UserMemory memory{workspace, worksize, weight, weightsize};
    return load(context, path, nullptr, &memory, graph);
}

xmedia_cl_s32 xmedia_cl_graph_loadmodel_from_buff_withmem(xmedia_cl_context* context, const char* model,
                                                          void* workspace, xmedia_cl_u32 worksize, void* weight,
                                                          xmedia_cl_u32 weightsize, xmedia_cl_graph* graph) {
    const UserMemory memory{workspace, worksize, weight, weightsize};
    return load(context, nullptr, model, &memory, graph);
}

xmedia_cl_s32 xmedia_cl_graph_unload(xmedia_cl_graph handle) {
    if (handle == nullptr) {
        return failed(XMEDIA_CL_INVALID_VALUE, "xmedia_cl_graph_unload: NULL");
    }
    const auto graph = graph_of(handle, "xmedia_cl_graph_unload");
    if (fault(Fault::unload)) {
        return failed(XMEDIA_CL_CALL_INTERFUNC_ERR, "xmedia_cl_graph_unload: fault injected");
    }
    const Model& model = *graph->model;
    if ((model.work_bytes > 0 && !Zone::instance().locate(graph->workspace.address)) ||
        (model.weight_bytes > 0 && !Zone::instance().locate(graph->weights.address))) {
        misuse("wrong order: workspace or weights are unmapped before the graph is unloaded");
    }
    std::vector<std::shared_ptr<Event>> runs;
    {
        const Locked runtime;
        runs = std::move(graph->runs);
        runtime->graphs.erase(handle);
    }
    for (const auto& run : runs) {
        if (!run->over()) {
            misuse("wrong order: a graph is unloaded while it runs");
        }
        run->wait();
    }
    give_back(*graph);
    return XMEDIA_CL_SUCCESS;
}
