// SPDX-License-Identifier: EPL-2.0
// Properties of contexts and graphs.
#include "config.hpp"
#include "diagnose.hpp"
#include "runtime.hpp"
#include "zone.hpp"

#include <unistd.h>

#include <cstring>

using namespace xmedia_sim;

namespace {

constexpr std::uint32_t largest_batch = 32;

/// The context of a handle, under the lock that the caller holds.
Context& context_of(const Locked& runtime, xmedia_cl_context handle, const char* call) {
    if (!runtime->context || runtime->context->handle != handle) {
        crash("%s: %p is no context", call, static_cast<void*>(handle));
    }
    return *runtime->context;
}

}  // namespace

xmedia_cl_s32 xmedia_cl_set_workspace_addr(xmedia_cl_context context, void* addr, xmedia_cl_u32 size) {
    if (context == nullptr || addr == nullptr || size == 0) {
        return failed(XMEDIA_CL_INVALID_VALUE, "xmedia_cl_set_workspace_addr: nothing given");
    }
    const Locked runtime;
    Context& found = context_of(runtime, context, "xmedia_cl_set_workspace_addr");
    if (found.workspace != nullptr) {
        return failed(XMEDIA_CL_CONTEXT_WORKSPACE_FAIL, "xmedia_cl_set_workspace_addr: set already");
    }
    const auto place = Zone::instance().locate(addr);
    if (!place || place->room < size) {
        misuse("foreign address: the shared workspace of %u bytes at %p is not in one mapping", size, addr);
    }
    found.workspace = addr;
    found.worksize = size;
    return XMEDIA_CL_SUCCESS;
}

xmedia_cl_s32 xmedia_cl_get_workspace_addr(xmedia_cl_context context, void** addr, xmedia_cl_u32* size) {
    if (context == nullptr || addr == nullptr || size == nullptr) {
        return failed(XMEDIA_CL_INVALID_VALUE, "xmedia_cl_get_workspace_addr: an argument is NULL");
    }
    const Locked runtime;
    const Context& found = context_of(runtime, context, "xmedia_cl_get_workspace_addr");
    if (found.workspace == nullptr) {
        return failed(XMEDIA_CL_CONTEXT_WORKSPACE_FAIL, "xmedia_cl_get_workspace_addr: not set");
    }
    *addr = found.workspace;
    *size = found.worksize;
    return XMEDIA_CL_SUCCESS;
}

xmedia_cl_s32 xmedia_cl_graph_set_schedule_prio(xmedia_cl_graph handle, xmedia_cl_u32 prio) {
    if (handle == nullptr || prio > XMEDIA_CL_JOB_SCHEDULE_PRIO_MAX) {
        return failed(XMEDIA_CL_INVALID_VALUE, "xmedia_cl_graph_set_schedule_prio: %u", prio);
    }
    const auto graph = graph_of(handle, "xmedia_cl_graph_set_schedule_prio");
    const Locked runtime;
    graph->priority = prio;
    return XMEDIA_CL_SUCCESS;
}

xmedia_cl_s32 xmedia_cl_graph_set_dynamic_batch_size(xmedia_cl_graph handle, xmedia_cl_tensor_info_inout* input,
                                                     xmedia_cl_u32 index, xmedia_cl_u32 batch) {
    if (handle == nullptr || input == nullptr || batch == 0) {
        return failed(XMEDIA_CL_INVALID_VALUE, "xmedia_cl_graph_set_dynamic_batch_size: nothing given");
    }
    const auto graph = graph_of(handle, "xmedia_cl_graph_set_dynamic_batch_size");
    const Locked runtime;
    if (index >= graph->batches.size()) {
        return failed(XMEDIA_CL_INVALID_VALUE, "xmedia_cl_graph_set_dynamic_batch_size: no input %u", index);
    }
    if (batch > largest_batch) {
        return failed(XMEDIA_CL_OUT_OF_MAX_BATCH, "xmedia_cl_graph_set_dynamic_batch_size: %u items", batch);
    }
    graph->batches[index] = batch;
    if (input->current_batch != nullptr) {
        input->current_batch[index] = batch;
    }
    return XMEDIA_CL_SUCCESS;
}

xmedia_cl_s32 xmedia_cl_graph_get_memory_reuse_type(xmedia_cl_graph handle, xmedia_cl_memory_reuse_type* type) {
    if (handle == nullptr || type == nullptr) {
        return failed(XMEDIA_CL_INVALID_VALUE, "xmedia_cl_graph_get_memory_reuse_type: an argument is NULL");
    }
    const auto graph = graph_of(handle, "xmedia_cl_graph_get_memory_reuse_type");
    *type = static_cast<xmedia_cl_memory_reuse_type>(graph->model->reuse);
    return XMEDIA_CL_SUCCESS;
}

xmedia_cl_s32 xmedia_cl_graph_get_private_data(xmedia_cl_graph handle, void** data, xmedia_cl_u32* size) {
    if (handle == nullptr || data == nullptr || size == nullptr) {
        return failed(XMEDIA_CL_INVALID_VALUE, "xmedia_cl_graph_get_private_data: an argument is NULL");
    }
    const auto graph = graph_of(handle, "xmedia_cl_graph_get_private_data");
    const auto& bytes = graph->model->private_data;
    if (bytes.empty()) {
        return failed(XMEDIA_CL_PRIVATE_DATA_NULL, "xmedia_cl_graph_get_private_data: the model has none");
    }
    *data = const_cast<std::uint8_t*>(bytes.data());
    *size = static_cast<xmedia_cl_u32>(bytes.size());
    return XMEDIA_CL_SUCCESS;
}

xmedia_cl_s32 xmedia_cl_set_profiling(xmedia_cl_graph handle, xmedia_cl_profiling_params params) {
    // The program may have put numbers there that the enums do not have.
    unsigned type = 0;
    unsigned flag = 0;
    std::memcpy(&type, &params.type, sizeof type);
    std::memcpy(&flag, &params.flag, sizeof flag);
    if (handle == nullptr || type > 1 || flag > 1) {
        return failed(XMEDIA_CL_INVALID_VALUE, "xmedia_cl_set_profiling: type %u, flag %u", type, flag);
    }
    graph_of(handle, "xmedia_cl_set_profiling");
    // Looked for when it is switched off, too.
    if (access("cycle_bin_file.bin", R_OK) != 0) {
        return failed(XMEDIA_CL_NOT_FIND_FILE, "xmedia_cl_set_profiling: no cycle_bin_file.bin in this folder");
    }
    note("xmedia_cl_set_profiling: there is nothing to measure here");
    return XMEDIA_CL_SUCCESS;
}

xmedia_cl_s32 xmedia_cl_graph_set_compress_config(xmedia_cl_graph /*graph*/, void* /*head*/,
                                                  xmedia_cl_u32 /*head_size*/, xmedia_cl_u32 /*break_line*/) {
    return failed(XMEDIA_CL_INVALID_OPERATION, "xmedia_cl_graph_set_compress_config: not supported");
}

xmedia_cl_s32 xmedia_cl_graph_communicate(xmedia_cl_graph handle, xmedia_cl_u32* id) {
    if (handle == nullptr || id == nullptr) {
        return failed(XMEDIA_CL_INVALID_VALUE, "xmedia_cl_graph_communicate: an argument is NULL");
    }
    graph_of(handle, "xmedia_cl_graph_communicate");
    *id = 0;
    return XMEDIA_CL_SUCCESS;
}

xmedia_cl_s32 xmedia_cl_graph_decommunicate(xmedia_cl_graph handle, xmedia_cl_u32 /*id*/) {
    if (handle == nullptr) {
        return failed(XMEDIA_CL_INVALID_VALUE, "xmedia_cl_graph_decommunicate: NULL");
    }
    graph_of(handle, "xmedia_cl_graph_decommunicate");
    return XMEDIA_CL_SUCCESS;
}
