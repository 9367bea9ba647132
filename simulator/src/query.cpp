// SPDX-License-Identifier: EPL-2.0
// What a model file says, without loading it.
#include "config.hpp"
#include "diagnose.hpp"
#include "model.hpp"
#include "xmedia_cl.h"

#include <cstring>

using namespace xmedia_sim;

namespace {

xmedia_cl_s32 query_size(const char* path, const char* buffer, xmedia_cl_u32* worksize, xmedia_cl_u32* weightsize) {
    if ((path == nullptr && buffer == nullptr) || worksize == nullptr || weightsize == nullptr) {
        return failed(XMEDIA_CL_INVALID_VALUE, "xmedia_cl_graph_querysize: an argument is NULL");
    }
    *worksize = *weightsize = 0;
    std::int32_t code = XMEDIA_CL_READ_MODEL_FAIL;
    const auto model = fault(Fault::query) ? nullptr : read_model(path, buffer, &code);
    // 3 is the only type that this chip runs; 0 means that the runtime is to find out.
    if (model && model->type != 3 && model->type != 0) {
        code = XMEDIA_CL_ERROR_MODEL_TYPE;
    }
    if (code != XMEDIA_CL_SUCCESS) {
        return failed(code, "xmedia_cl_graph_querysize: %s", path != nullptr ? path : "buffer");
    }
    *worksize = model->work_bytes;
    *weightsize = model->weight_bytes;
    return XMEDIA_CL_SUCCESS;
}

xmedia_cl_s32 query_info(const char* path, const char* buffer, void* info, xmedia_cl_model_info_type type) {
    if ((path == nullptr && buffer == nullptr) || info == nullptr) {
        return failed(XMEDIA_CL_INVALID_VALUE, "xmedia_cl_graph_query_model_info: an argument is NULL");
    }
    if (type != XMEDIA_CL_MEM_INFO) {
        return failed(XMEDIA_CL_UNSUPPORT_INFO_TYPE, "xmedia_cl_graph_query_model_info: unknown type");
    }
    std::int32_t code = XMEDIA_CL_READ_MODEL_FAIL;
    const auto model = fault(Fault::query) ? nullptr : read_model(path, buffer, &code);
    if (!model) {
        return failed(code, "xmedia_cl_graph_query_model_info: %s", path != nullptr ? path : "buffer");
    }
    xmedia_cl_mem_info found{};
    found.worksize = model->work_bytes;
    found.weightsize = model->weight_bytes;
    found.inputsize = model->input_bytes;
    found.outputsize = model->output_bytes;
    found.codesize = model->code_bytes;
    found.memory_reuse_type = static_cast<xmedia_cl_memory_reuse_type>(model->reuse);
    found.private_data_size = static_cast<xmedia_cl_u32>(model->private_data.size());
    std::memcpy(info, &found, sizeof found);
    return XMEDIA_CL_SUCCESS;
}

xmedia_cl_s32 private_data(const char* path, const char* buffer, void* data, xmedia_cl_u32 size) {
    if ((path == nullptr && buffer == nullptr) || data == nullptr) {
        return failed(XMEDIA_CL_INVALID_VALUE, "xmedia_cl_graph_get_private_data: an argument is NULL");
    }
    std::int32_t code = XMEDIA_CL_SUCCESS;
    const auto model = read_model(path, buffer, &code);
    if (!model) {
        return failed(code, "xmedia_cl_graph_get_private_data: %s", path != nullptr ? path : "buffer");
    }
    if (size < model->private_data.size()) {
        return failed(XMEDIA_CL_PRIVATE_DATA_SIZE_ERROR, "xmedia_cl_graph_get_private_data: %u bytes for %zu", size,
                      model->private_data.size());
    }
    // A model without such data is no failure here, unlike with a loaded graph.
    if (!model->private_data.empty()) {
        std::memcpy(data, model->private_data.data(), model->private_data.size());
    }
    return XMEDIA_CL_SUCCESS;
}

}  // namespace

xmedia_cl_s32 xmedia_cl_graph_querysize_from_file(const char* path, xmedia_cl_u32* worksize,
                                                  xmedia_cl_u32* weightsize) {
    return query_size(path, nullptr, worksize, weightsize);
}

xmedia_cl_s32 xmedia_cl_graph_querysize_from_buff(const char* model, xmedia_cl_u32* worksize,
                                                  xmedia_cl_u32* weightsize) {
    return query_size(nullptr, model, worksize, weightsize);
}

xmedia_cl_s32 xmedia_cl_graph_query_model_info_from_file(const char* path, void* info, xmedia_cl_model_info_type type) {
    return query_info(path, nullptr, info, type);
}

xmedia_cl_s32 xmedia_cl_graph_query_model_info_from_buff(const char* model, void* info,
                                                         xmedia_cl_model_info_type type) {
    return query_info(nullptr, model, info, type);
}

xmedia_cl_s32 xmedia_cl_graph_get_private_data_from_file(const char* path, void* data, xmedia_cl_u32 size) {
    return private_data(path, nullptr, data, size);
}

xmedia_cl_s32 xmedia_cl_graph_get_private_data_from_buff(const char* model, void* data, xmedia_cl_u32 size) {
    return private_data(nullptr, model, data, size);
}
