// SPDX-License-Identifier: EPL-2.0
// Prints what the runtime says of a file: codes of query, info and load, and the tensors when it loads.
#include "support.hpp"

#include <fstream>
#include <iterator>

namespace {

void print(const char* key, const Tensors& tensors) {
    std::printf(",\n \"%s\": [", key);
    for (std::size_t i = 0; i < tensors.tensor.size(); ++i) {
        const auto& tensor = tensors.tensor[i];
        const auto list = [&](const char* name, const xmedia_cl_u32* values) {
            std::printf(", \"%s\": [", name);
            for (xmedia_cl_u32 dim = 0; dim < tensor.shape.ndims && dim < XMEDIA_CL_MAX_DIMS_NUM; ++dim) {
                std::printf("%s%u", dim == 0 ? "" : ", ", values[dim]);
            }
            std::printf("]");
        };
        std::printf("%s\n  {\"id\": %u, \"addr\": %llu", i == 0 ? "" : ",", tensor.tensor_id,
                    static_cast<unsigned long long>(reinterpret_cast<std::uintptr_t>(tensor.addr)));
        std::printf(", \"name\": %s%s%s", tensor.name == nullptr ? "" : "\"",
                    tensor.name == nullptr ? "null" : tensor.name, tensor.name == nullptr ? "" : "\"");
        std::printf(", \"ndims\": %u", tensor.shape.ndims);
        list("dims", tensor.shape.dims);
        list("pch", tensor.shape.pch);
        xmedia_cl_s32 type = 0;
        __builtin_memcpy(&type, &tensor.shape.type, sizeof type);
        std::printf(", \"type\": %d, \"scale\": %.9g, \"zp\": %d, \"size\": %u", type,
                    static_cast<double>(tensor.quant.scale), tensor.quant.zp, tensor.size);
        std::printf(", \"current_batch\": %u, \"batch_count\": %u, \"batch\": [%u]}", tensors.current[i],
                    tensors.batch[i].batch_count, tensors.batch[i].batch[0]);
    }
    std::printf("\n ]");
}

}  // namespace

int main(int argc, char** argv) {
    CHECK(argc >= 2);
    const bool in_memory = argc > 2 && std::string(argv[2]) == "buffer";
    std::vector<char> contents;
    if (in_memory) {
        std::ifstream file(argv[1], std::ios::binary);
        contents.assign(std::istreambuf_iterator<char>(file), {});
    }
    Npu npu;
    xmedia_cl_u32 worksize = 7;
    xmedia_cl_u32 weightsize = 7;
    xmedia_cl_mem_info info;
    __builtin_memset(&info, 0x11, sizeof info);
    xmedia_cl_graph graph = nullptr;
    const char* path = argv[1];
    const int query = in_memory ? xmedia_cl_graph_querysize_from_buff(contents.data(), &worksize, &weightsize)
                                : xmedia_cl_graph_querysize_from_file(path, &worksize, &weightsize);
    const int query_info = in_memory
                               ? xmedia_cl_graph_query_model_info_from_buff(contents.data(), &info, XMEDIA_CL_MEM_INFO)
                               : xmedia_cl_graph_query_model_info_from_file(path, &info, XMEDIA_CL_MEM_INFO);
    CHECK(query_info == 0 || info.worksize == 0x11111111);
    const int load = in_memory ? xmedia_cl_graph_loadmodel_from_buff(&npu.context, contents.data(), &graph)
                               : xmedia_cl_graph_loadmodel_from_file(&npu.context, path, &graph);
    // Behind the lines that the runtime prints itself.
    std::printf("{\"querysize_ret\": %d, \"query_worksize\": %u, \"query_weightsize\": %u, \"info_ret\": %d, "
                "\"load_ret\": %d",
                query, worksize, weightsize, query_info, load);
    if (query_info == 0) {
        xmedia_cl_u32 reuse = 0;
        __builtin_memcpy(&reuse, &info.memory_reuse_type, sizeof reuse);
        std::printf(",\n \"worksize\": %u, \"weightsize\": %u, \"inputsize\": %u, \"outputsize\": %u, "
                    "\"codesize\": %u, \"memory_reuse_type\": %u, \"private_data_size\": %u",
                    info.worksize, info.weightsize, info.inputsize, info.outputsize, info.codesize, reuse,
                    info.private_data_size);
    }
    if (load == 0) {
        print("inputs", Tensors(graph, xmedia_cl_graph_get_input));
        print("outputs", Tensors(graph, xmedia_cl_graph_get_output));
        void* data = nullptr;
        xmedia_cl_u32 size = 12345;
        const int code = xmedia_cl_graph_get_private_data(graph, &data, &size);
        std::printf(",\n \"private\": {\"ret\": %d, \"ptr_nonnull\": %d, \"size\": %u}", code, data != nullptr ? 1 : 0,
                    size);
        EQUAL(xmedia_cl_graph_unload(graph), 0);
    }
    std::printf("}\n");
    return 0;
}
