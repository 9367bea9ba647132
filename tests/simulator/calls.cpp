// SPDX-License-Identifier: EPL-2.0
// Status codes of every call, with arguments good and bad.
#include "support.hpp"

#include <cstring>

namespace {

void start_and_devices() {
    EQUAL(xmedia_cl_uninit(), 0);
    EQUAL(xmedia_sys_exit(), 0);
    EQUAL(xmedia_sys_init(nullptr), 0);
    EQUAL(xmedia_cl_init(), 0);
    EQUAL(xmedia_cl_init(), 0);
    EQUAL(xmedia_cl_uninit(), 0);

    xmedia_cl_u32 count = 0;
    EQUAL(xmedia_cl_get_device_ids(XMEDIA_CL_DEVICE_ALL, nullptr, nullptr), -30);
    EQUAL(xmedia_cl_get_device_ids(static_cast<xmedia_cl_device_type_e>(3), nullptr, &count), -31);
    EQUAL(xmedia_cl_get_device_ids(XMEDIA_CL_DEVICE_CPU, nullptr, &count), 0);
    EQUAL(count, 1);
    count = 0;
    EQUAL(xmedia_cl_get_device_ids(XMEDIA_CL_DEVICE_NPU, nullptr, &count), 0);
    EQUAL(count, 1);
    count = 0;
    EQUAL(xmedia_cl_get_device_ids(XMEDIA_CL_DEVICE_ALL, nullptr, &count), 0);
    EQUAL(count, 2);
    // A count that is not 0 is left alone, and that many handles are made.
    count = 5;
    xmedia_cl_device_id many[5] = {};
    EQUAL(xmedia_cl_get_device_ids(XMEDIA_CL_DEVICE_NPU, many, &count), 0);
    EQUAL(count, 5);
    CHECK(many[4] != nullptr);

    xmedia_cl_s32 err = 0;
    CHECK(xmedia_cl_create_context(0, many, &err) == nullptr);
    EQUAL(err, -30);
    err = 0;
    CHECK(xmedia_cl_create_context(1, many, &err) == nullptr);  // XMEDIA_CL_DEVICE_NPU gives one
    EQUAL(err, -30);
    err = 0;
    CHECK(xmedia_cl_create_context(5, many, &err) == nullptr);
    EQUAL(err, -30);
    err = 0;
    CHECK(xmedia_cl_create_context(2, nullptr, &err) == nullptr);
    EQUAL(err, -30);
    xmedia_cl_device_id half[2] = {many[0], nullptr};
    CHECK(xmedia_cl_create_context(2, half, &err) == nullptr);
    EQUAL(err, -30);

    xmedia_cl_context context = xmedia_cl_create_context(2, many, &err);
    CHECK(context != nullptr);
    EQUAL(err, 0);
    CHECK(xmedia_cl_create_context(2, many, &err) == context);
    EQUAL(xmedia_cl_uninit(), -59);
    EQUAL(xmedia_cl_release_context(context), 0);
    EQUAL(xmedia_cl_uninit(), -59);
    EQUAL(xmedia_cl_release_context(context), 0);
    EQUAL(xmedia_cl_release_context(context), -34);
    EQUAL(xmedia_cl_release_context(nullptr), -34);

    xmedia_cl_u32 none = 0;
    EQUAL(xmedia_cl_release_device_ids(nullptr, &count), -33);
    EQUAL(xmedia_cl_release_device_ids(many, nullptr), -33);
    EQUAL(xmedia_cl_release_device_ids(many, &none), -33);
    EQUAL(xmedia_cl_release_device_ids(many, &count), 0);
    EQUAL(xmedia_cl_uninit(), 0);
    EQUAL(xmedia_cl_uninit(), 0);
    EQUAL(xmedia_sys_exit(), 0);

    // A context without xmedia_cl_init is made all the same.
    count = 0;
    EQUAL(xmedia_cl_get_device_ids(XMEDIA_CL_DEVICE_ALL, many, &count), 0);
    context = xmedia_cl_create_context(count, many, &err);
    CHECK(context != nullptr);
    EQUAL(xmedia_cl_release_context(context), 0);
    EQUAL(xmedia_cl_release_device_ids(many, &count), 0);
}

void queries(const char* path, const char* with_private_data) {
    xmedia_cl_u32 a = 0;
    xmedia_cl_u32 b = 0;
    xmedia_cl_mem_info info{};
    char bytes[64] = {};
    EQUAL(xmedia_cl_graph_querysize_from_file(nullptr, &a, &b), -30);
    EQUAL(xmedia_cl_graph_querysize_from_file(path, nullptr, &b), -30);
    EQUAL(xmedia_cl_graph_querysize_from_file(path, &a, nullptr), -30);
    EQUAL(xmedia_cl_graph_querysize_from_buff(nullptr, &a, &b), -30);
    EQUAL(xmedia_cl_graph_query_model_info_from_file(nullptr, &info, XMEDIA_CL_MEM_INFO), -30);
    EQUAL(xmedia_cl_graph_query_model_info_from_file(path, nullptr, XMEDIA_CL_MEM_INFO), -30);
    EQUAL(xmedia_cl_graph_query_model_info_from_buff(nullptr, &info, XMEDIA_CL_MEM_INFO), -30);
    int one = 1;
    xmedia_cl_model_info_type unknown = XMEDIA_CL_MEM_INFO;
    std::memcpy(&unknown, &one, sizeof unknown);
    EQUAL(xmedia_cl_graph_query_model_info_from_file(path, &info, unknown), -79);

    EQUAL(xmedia_cl_graph_get_private_data_from_file(nullptr, bytes, 64), -30);
    EQUAL(xmedia_cl_graph_get_private_data_from_file(path, nullptr, 64), -30);
    EQUAL(xmedia_cl_graph_get_private_data_from_file(path, bytes, 64), 0);
    EQUAL(bytes[0], 0);
    EQUAL(xmedia_cl_graph_get_private_data_from_file(with_private_data, bytes, 7), -78);
    EQUAL(xmedia_cl_graph_get_private_data_from_file(with_private_data, bytes, 64), 0);
    CHECK(std::strcmp(bytes, "private") == 0);
    EQUAL(xmedia_cl_graph_get_private_data_from_file("missing", bytes, 64), -65);
}

void loading(Npu& npu, const char* path) {
    const xmedia_cl_mem_info info = Model::query(path);
    const Buffer work(info.worksize + 16);
    const Buffer weight(info.weightsize + 16);
    std::vector<char> heap(info.weightsize + 16);
    xmedia_cl_graph graph = nullptr;
    xmedia_cl_context* context = &npu.context;
    EQUAL(xmedia_cl_graph_loadmodel_from_file(nullptr, path, &graph), -30);
    EQUAL(xmedia_cl_graph_loadmodel_from_file(context, nullptr, &graph), -30);
    EQUAL(xmedia_cl_graph_loadmodel_from_file(context, path, nullptr), -30);
    EQUAL(xmedia_cl_graph_loadmodel_from_buff(context, nullptr, &graph), -30);
    const auto load = [&](void* workspace, xmedia_cl_u32 worksize, void* weights, xmedia_cl_u32 weightsize) {
        return xmedia_cl_graph_loadmodel_from_file_withmem(context, path, workspace, worksize, weights, weightsize,
                                                           &graph);
    };
    EQUAL(load(nullptr, work.size, weight.data, weight.size), -30);
    EQUAL(load(work.data, work.size, nullptr, weight.size), -30);
    EQUAL(load(work.data, work.size, weight.data, info.weightsize - 1), -67);
    EQUAL(load(work.bytes() + 4, work.size, weight.data, weight.size), -69);
    EQUAL(load(work.data, work.size, weight.bytes() + 1, weight.size), -69);
    EQUAL(load(work.data, work.size, heap.data(), weight.size), -1);
    EQUAL(load(heap.data(), work.size, weight.data, weight.size), -1);
    // Not noticed: a workspace that is too small.
    EQUAL(load(work.data, 0, weight.data, info.weightsize), 0);
    EQUAL(xmedia_cl_graph_unload(graph), 0);
    EQUAL(load(work.data, work.size, weight.data, weight.size), 0);
    EQUAL(xmedia_cl_graph_unload(graph), 0);
    EQUAL(xmedia_cl_graph_unload(nullptr), -30);
}

void getters(Model& model, Tensors::Get get) {
    xmedia_cl_tensor tensor[3];
    xmedia_cl_tensor_batch batch[3];
    xmedia_cl_u32 current[3];
    xmedia_cl_tensor_info_inout io{};
    EQUAL(get(nullptr, 0, &io), -30);
    EQUAL(get(model.graph, 0, nullptr), -30);
    EQUAL(get(model.graph, 0, &io), 0);
    EQUAL(io.num, 2);
    io = {0, nullptr, batch, current};
    EQUAL(get(model.graph, 2, &io), -30);
    EQUAL(io.num, 2);
    io = {0, tensor, nullptr, current};
    EQUAL(get(model.graph, 2, &io), -30);
    io = {0, tensor, batch, nullptr};
    EQUAL(get(model.graph, 2, &io), -30);
    io = {0, tensor, batch, current};
    EQUAL(get(model.graph, 1, &io), -66);
    std::memset(tensor, 0x22, sizeof tensor);
    EQUAL(get(model.graph, 0, &io), 0);
    EQUAL(tensor[0].tensor_id, 0x22222222);
    EQUAL(get(model.graph, 3, &io), 0);
    EQUAL(tensor[2].tensor_id, 0x22222222);
    EQUAL(io.num, 2);
}

void binding_and_running(Model& model) {
    xmedia_cl_tensor_info_inout* in = &model.in->info;
    xmedia_cl_tensor_info_inout* out = &model.out->info;
    EQUAL(xmedia_cl_graph_process(nullptr), -30);
    EQUAL(xmedia_cl_graph_process(model.graph), -67);
    EQUAL(xmedia_cl_graph_set_inout(nullptr, in, out), -30);
    EQUAL(xmedia_cl_graph_set_inout(model.graph, nullptr, out), -30);
    EQUAL(xmedia_cl_graph_set_inout(model.graph, in, nullptr), -30);
    in->num = 1;
    EQUAL(xmedia_cl_graph_set_inout(model.graph, in, out), -30);
    in->num = 2;
    void* good = out->tensor[1].addr;
    std::vector<char> heap(64);
    for (void* bad : {static_cast<void*>(nullptr), static_cast<void*>(heap.data())}) {
        out->tensor[1].addr = bad;
        EQUAL(xmedia_cl_graph_set_inout(model.graph, in, out), -30);
    }
    out->tensor[1].addr = static_cast<char*>(good) + 4;
    EQUAL(xmedia_cl_graph_set_inout(model.graph, in, out), -69);
    out->tensor[1].addr = good;
    // What else the caller changes does not matter.
    out->tensor[0].size = 12345;
    out->tensor[0].shape.dims[1] = 99;
    out->tensor[0].tensor_id = 77;
    EQUAL(xmedia_cl_graph_set_inout(model.graph, in, out), 0);
    EQUAL(xmedia_cl_graph_process(model.graph), 0);
}

void options(Npu& npu, Model& model, xmedia_cl_graph with_data) {
    xmedia_cl_tensor_info_inout* in = &model.in->info;
    EQUAL(xmedia_cl_graph_set_dynamic_batch_size(nullptr, in, 0, 1), -30);
    EQUAL(xmedia_cl_graph_set_dynamic_batch_size(model.graph, nullptr, 0, 1), -30);
    EQUAL(xmedia_cl_graph_set_dynamic_batch_size(model.graph, in, 0, 0), -30);
    EQUAL(xmedia_cl_graph_set_dynamic_batch_size(model.graph, in, 2, 1), -30);
    EQUAL(xmedia_cl_graph_set_dynamic_batch_size(model.graph, in, 0, 33), -74);
    EQUAL(xmedia_cl_graph_set_dynamic_batch_size(model.graph, in, 0, 32), 0);
    EQUAL(in->current_batch[0], 32);
    EQUAL(model.out->current[0], 1);
    EQUAL(xmedia_cl_graph_set_dynamic_batch_size(model.graph, in, 0, 1), 0);

    for (xmedia_cl_u32 prio = 0; prio < 4; ++prio) {
        EQUAL(xmedia_cl_graph_set_schedule_prio(model.graph, prio), 0);
    }
    EQUAL(xmedia_cl_graph_set_schedule_prio(model.graph, 4), -30);

    EQUAL(xmedia_cl_set_profiling(model.graph, {static_cast<xmedia_cl_profiling_type_e>(1), XMEDIA_CL_PROFILING_ON}),
          -75);
    EQUAL(xmedia_cl_set_profiling(model.graph, {XMEDIA_CL_PROFILING_TYPE_NORMAL, XMEDIA_CL_PROFILING_OFF}), -75);
    int two = 2;
    xmedia_cl_profiling_params bad{};
    std::memcpy(&bad.flag, &two, sizeof two);
    EQUAL(xmedia_cl_set_profiling(model.graph, bad), -30);
    EQUAL(xmedia_cl_graph_set_compress_config(model.graph, nullptr, 0, 0), -59);

    xmedia_cl_memory_reuse_type reuse = XMEDIA_CL_WORKSPACE_INPUT;
    EQUAL(xmedia_cl_graph_get_memory_reuse_type(nullptr, &reuse), -30);
    EQUAL(xmedia_cl_graph_get_memory_reuse_type(model.graph, &reuse), 0);
    EQUAL(reuse, XMEDIA_CL_WORKSPACE);

    void* data = nullptr;
    xmedia_cl_u32 size = 0;
    EQUAL(xmedia_cl_graph_get_private_data(model.graph, &data, &size), -77);
    EQUAL(xmedia_cl_graph_get_private_data(nullptr, &data, &size), -30);
    EQUAL(xmedia_cl_graph_get_private_data(model.graph, nullptr, &size), -30);
    EQUAL(xmedia_cl_graph_get_private_data(with_data, &data, &size), 0);
    EQUAL(size, 8);
    CHECK(std::strcmp(static_cast<char*>(data), "private") == 0);

    EQUAL(xmedia_cl_get_workspace_addr(npu.context, &data, &size), -76);
    EQUAL(xmedia_cl_set_workspace_addr(npu.context, nullptr, 8), -30);
    EQUAL(xmedia_cl_set_workspace_addr(npu.context, model.workspace.data, 0), -30);
    EQUAL(xmedia_cl_set_workspace_addr(npu.context, model.workspace.data, model.workspace.size), 0);
    EQUAL(xmedia_cl_set_workspace_addr(npu.context, model.workspace.data, model.workspace.size), -76);
    EQUAL(xmedia_cl_get_workspace_addr(npu.context, &data, &size), 0);
    CHECK(data == model.workspace.data && size == model.workspace.size);

    xmedia_cl_u32 id = 0;
    EQUAL(xmedia_cl_graph_communicate(nullptr, &id), -30);
    EQUAL(xmedia_cl_graph_communicate(model.graph, &id), 0);
    EQUAL(xmedia_cl_graph_decommunicate(model.graph, id), 0);
}

void events(Model& model) {
    const auto ignore = [](xmedia_cl_event, xmedia_cl_s32, void*) {};
    xmedia_cl_event event = nullptr;
    xmedia_cl_s32 status = -1;
    EQUAL(xmedia_cl_graph_submit(nullptr, &event), -30);
    EQUAL(xmedia_cl_graph_submit(model.graph, nullptr), -30);
    EQUAL(xmedia_cl_wait_for_events(0, &event), -30);
    EQUAL(xmedia_cl_wait_for_events(1, nullptr), -30);
    EQUAL(xmedia_cl_wait_for_events(1, &event), -57);
    EQUAL(xmedia_cl_set_event_callback(nullptr, XMEDIA_CL_COMPLETED, ignore, nullptr), -58);
    EQUAL(xmedia_cl_query_event_status(nullptr, &status), -58);
    EQUAL(xmedia_cl_release_event(nullptr), -58);
    EQUAL(xmedia_cl_graph_submit(model.graph, &event), 0);
    EQUAL(xmedia_cl_set_event_callback(event, XMEDIA_CL_COMPLETED, nullptr, nullptr), -30);
    EQUAL(xmedia_cl_set_event_callback(event, XMEDIA_CL_RUNNING, ignore, nullptr), -30);
    EQUAL(xmedia_cl_query_event_status(event, nullptr), -30);
    EQUAL(xmedia_cl_wait_for_events(1, &event), 0);
    EQUAL(xmedia_cl_query_event_status(event, &status), 0);
    EQUAL(status, XMEDIA_CL_COMPLETED);
    EQUAL(xmedia_cl_release_event(event), 0);
}

}  // namespace

int main(int argc, char** argv) {
    CHECK(argc == 3);
    start_and_devices();
    queries(argv[1], argv[2]);
    Npu npu;
    loading(npu, argv[1]);
    Model model(npu, argv[1]);
    Model other(npu, argv[2]);
    getters(model, xmedia_cl_graph_get_input);
    getters(model, xmedia_cl_graph_get_output);
    binding_and_running(model);
    options(npu, model, other.graph);
    events(model);
    return 0;
}
