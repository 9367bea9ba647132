// SPDX-License-Identifier: EPL-2.0
// Descriptions of inputs and outputs, and their memory.
#include "config.hpp"
#include "diagnose.hpp"
#include "runtime.hpp"
#include "zone.hpp"

#include <algorithm>
#include <cstring>

using namespace xmedia_sim;

namespace {

enum class Direction { in, out };

const char* word(Direction direction) {
    return direction == Direction::in ? "input" : "output";
}

void describe(const Graph& graph, const Tensor& tensor, bool in_workspace, xmedia_cl_tensor& to) {
    to.tensor_id = tensor.id;
    // Not NULL before it is bound: the offset, as a number.
    to.addr = in_workspace ? static_cast<std::uint8_t*>(graph.workspace.address) + tensor.offset
                           : reinterpret_cast<void*>(static_cast<std::uintptr_t>(tensor.offset));
    to.shape.ndims = tensor.ndims;
    std::copy(tensor.dims.begin(), tensor.dims.end(), to.shape.dims);
    std::copy(tensor.pitches.begin(), tensor.pitches.end(), to.shape.pch);
    // Files may hold numbers that the enum does not have.
    std::memcpy(&to.shape.type, &tensor.type, sizeof to.shape.type);
    to.quant.scale = tensor.scale;
    to.quant.zp = tensor.zero_point;
    to.size = tensor.size;
    to.name = tensor.name.empty() ? nullptr : const_cast<char*>(tensor.name.c_str());
}

xmedia_cl_s32 get(xmedia_cl_graph handle, xmedia_cl_u32 count, xmedia_cl_tensor_info_inout* info, Direction direction) {
    const char* what = word(direction);
    if (handle == nullptr || info == nullptr) {
        return failed(XMEDIA_CL_INVALID_VALUE, "xmedia_cl_graph_get_%s: an argument is NULL", what);
    }
    const auto graph = graph_of(handle, "xmedia_cl_graph_get_input/output");
    if (fault(Fault::tensors)) {
        return failed(XMEDIA_CL_INVALID_VALUE, "xmedia_cl_graph_get_%s: fault injected", what);
    }
    const Model& model = *graph->model;
    const auto& indices = direction == Direction::in ? model.inputs : model.outputs;
    info->num = static_cast<xmedia_cl_u32>(indices.size());
    if (count == 0) {
        return XMEDIA_CL_SUCCESS;
    }
    if (info->tensor == nullptr || info->tensor_batch == nullptr || info->current_batch == nullptr) {
        return failed(XMEDIA_CL_INVALID_VALUE, "xmedia_cl_graph_get_%s: an array is NULL", what);
    }
    if (count < indices.size()) {
        return failed(XMEDIA_CL_INSUFFICIENT_SIZE, "xmedia_cl_graph_get_%s: room for %u of %zu", what, count,
                      indices.size());
    }
    const bool in_workspace = direction == Direction::in ? model.input_in_workspace() : model.output_in_workspace();
    for (std::size_t i = 0; i < indices.size(); ++i) {
        describe(*graph, model.tensors[indices[i]], in_workspace, info->tensor[i]);
        info->tensor_batch[i].batch_count = 1;
        info->tensor_batch[i].batch[0] = 1;
        info->current_batch[i] = 1;
    }
    return XMEDIA_CL_SUCCESS;
}

/// Checks the memory of a direction; the device uses the first address and the file's offsets.
xmedia_cl_s32 bind(const Graph& graph, const xmedia_cl_tensor_info_inout& info, Direction direction, Bound& bound) {
    const Model& model = *graph.model;
    const auto& indices = direction == Direction::in ? model.inputs : model.outputs;
    const bool in_workspace = direction == Direction::in ? model.input_in_workspace() : model.output_in_workspace();
    const char* what = word(direction);
    if (info.num != indices.size()) {
        return failed(XMEDIA_CL_INVALID_VALUE, "xmedia_cl_graph_set_inout: %u of %zu %ss", info.num, indices.size(),
                      what);
    }
    if (info.tensor == nullptr && info.num > 0) {
        crash("xmedia_cl_graph_set_inout: no array of %ss", what);
    }
    for (std::uint32_t i = 0; i < info.num; ++i) {
        const Tensor& tensor = model.tensors[indices[i]];
        const auto place = Zone::instance().locate(info.tensor[i].addr);
        if (!place) {
            misuse("foreign address: %s %u at %p is not in mapped MMZ memory", what, i, info.tensor[i].addr);
            return failed(XMEDIA_CL_INVALID_VALUE, "xmedia_cl_graph_set_inout: %s %u is not in MMZ memory", what, i);
        }
        if (place->physical % 8 != 0) {
            misuse("alignment: %s %u is not at a multiple of 8 bytes", what, i);
            return failed(XMEDIA_CL_ERROR_ADDR_ALIGN, "xmedia_cl_graph_set_inout: %s %u is not at a multiple of 8",
                          what, i);
        }
        if (tensor.size > Zone::instance().bytes()) {
            crash("%s %u of %u bytes does not fit into the zone", what, i, tensor.size);
        }
        const std::uint64_t base = i == 0 ? place->physical : bound.physical;
        if (i > 0 && place->physical != base + tensor.offset) {
            misuse("packing: %s %u is bound %lld bytes behind the first, the model has it at %u", what, i,
                   static_cast<long long>(place->physical - base), tensor.offset);
        }
        bound.address = i == 0 ? info.tensor[0].addr : bound.address;
        bound.physical = base;
        const std::uint64_t end = place->physical + tensor.size;
        bound.range = end > base ? end - base : 0;
        bound.needed = std::max(bound.needed, std::uint64_t{tensor.offset} + tensor.size);
    }
    if (in_workspace && info.num > 0 && bound.physical != graph.workspace_physical) {
        misuse("packing: %ss of this model live in its workspace, not where they are bound", what);
    }
    if (info.num > 0 && bound.range == 0) {
        note("xmedia_cl_graph_set_inout: the last %s lies before the first: the device's range is empty", what);
    }
    return XMEDIA_CL_SUCCESS;
}

/// The block must hold all items of a batch; the runtime does not look.
void check_room(const Bound& bound, std::uint32_t batch, std::uint32_t item, Direction direction) {
    const auto place = Zone::instance().locate(bound.address);
    const std::uint64_t needed = std::uint64_t{batch - 1} * item + bound.needed;
    if (place && place->room < needed) {
        misuse("packing: %ss need %llu bytes in one block, there are %llu", word(direction),
               static_cast<unsigned long long>(needed), static_cast<unsigned long long>(place->room));
    }
}

}  // namespace

xmedia_cl_s32 xmedia_cl_graph_get_input(xmedia_cl_graph graph, xmedia_cl_u32 count, xmedia_cl_tensor_info_inout* info) {
    return get(graph, count, info, Direction::in);
}

xmedia_cl_s32 xmedia_cl_graph_get_output(xmedia_cl_graph graph, xmedia_cl_u32 count,
                                         xmedia_cl_tensor_info_inout* info) {
    return get(graph, count, info, Direction::out);
}

xmedia_cl_s32 xmedia_cl_graph_set_inout(xmedia_cl_graph handle, const xmedia_cl_tensor_info_inout* input,
                                        const xmedia_cl_tensor_info_inout* output) {
    if (handle == nullptr || input == nullptr || output == nullptr) {
        return failed(XMEDIA_CL_INVALID_VALUE, "xmedia_cl_graph_set_inout: an argument is NULL");
    }
    const auto graph = graph_of(handle, "xmedia_cl_graph_set_inout");
    if (fault(Fault::setinout)) {
        return failed(XMEDIA_CL_INVALID_VALUE, "xmedia_cl_graph_set_inout: fault injected");
    }
    Bound in;
    Bound out;
    xmedia_cl_s32 code = bind(*graph, *input, Direction::in, in);
    if (code == XMEDIA_CL_SUCCESS) {
        code = bind(*graph, *output, Direction::out, out);
    }
    if (code != XMEDIA_CL_SUCCESS) {
        return code;
    }
    const Locked runtime;
    const std::vector<std::uint32_t>& batches = graph->batches;
    if (!batches.empty() && std::count(batches.begin(), batches.end(), batches[0]) != std::ptrdiff_t(batches.size())) {
        misuse("the inputs have different batch sizes");
    }
    graph->bound_batch = batches.empty() ? 1 : *std::max_element(batches.begin(), batches.end());
    graph->input = in;
    graph->output = out;
    graph->is_bound = true;
    check_room(in, graph->bound_batch, graph->model->input_bytes, Direction::in);
    check_room(out, graph->bound_batch, graph->model->output_bytes, Direction::out);
    return XMEDIA_CL_SUCCESS;
}
