// SPDX-License-Identifier: EPL-2.0
// What a run reads and writes: packing, caches, batches, workspaces.
#include "support.hpp"

#include <cstring>
#include <map>
#include <string>

namespace {

std::uint32_t crc32(const std::uint8_t* data, std::size_t size) {
    std::uint32_t crc = 0xFFFFFFFF;
    for (std::size_t i = 0; i < size; ++i) {
        crc ^= data[i];
        for (int bit = 0; bit < 8; ++bit) {
            crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0xEDB88320U : 0U);
        }
    }
    return ~crc;
}

/// Outputs of a model without reference, from what its inputs hold.
std::vector<std::uint8_t> expected(const std::vector<std::uint8_t>& inputs, const Tensors& out) {
    const std::uint32_t crc = crc32(inputs.data(), inputs.size());
    std::vector<std::uint8_t> bytes;
    for (std::size_t i = 0; i < out.tensor.size(); ++i) {
        for (xmedia_cl_u32 byte = 0; byte < out.tensor[i].size; ++byte) {
            bytes.push_back(pattern(crc, static_cast<std::uint32_t>(i), byte));
        }
    }
    return bytes;
}

std::vector<std::uint8_t> held(const Tensors& tensors, std::size_t shift = 0) {
    std::vector<std::uint8_t> bytes;
    for (const auto& tensor : tensors.tensor) {
        const auto* data = static_cast<const std::uint8_t*>(tensor.addr) + shift;
        bytes.insert(bytes.end(), data, data + tensor.size);
    }
    return bytes;
}

void usual(Npu& npu, const std::string& path) {
    for (const bool cached : {true, false}) {
        Model model(npu, path, cached);
        model.bind();
        for (unsigned seed = 0; seed < 3; ++seed) {
            model.fill(seed);
            EQUAL(xmedia_cl_graph_process(model.graph), 0);
            CHECK(model.result() == expected(held(*model.in), *model.out));
        }
    }
}

void plain_load(Npu& npu, const std::string& path) {
    const xmedia_cl_mem_info info = Model::query(path);
    const Buffer in_memory(info.inputsize);
    const Buffer out_memory(info.outputsize);
    xmedia_cl_graph graph = nullptr;
    EQUAL(xmedia_cl_graph_loadmodel_from_file(&npu.context, path.c_str(), &graph), 0);
    Tensors in(graph, xmedia_cl_graph_get_input);
    Tensors out(graph, xmedia_cl_graph_get_output);
    in.bind(in_memory.data);
    out.bind(out_memory.data);
    EQUAL(xmedia_cl_graph_set_inout(graph, &in.info, &out.info), 0);
    std::memset(in_memory.data, 9, info.inputsize);
    EQUAL(xmedia_cl_graph_process(graph), 0);
    CHECK(held(out) == expected(held(in), out));
    EQUAL(xmedia_cl_graph_unload(graph), 0);
}

/// Tensors at steps of 64 bytes: the data are where the model has them all the same.
void spacing(Npu& npu, const std::string& path) {
    Model model(npu, path);
    const Buffer wide(4096);
    auto& tensors = model.out->tensor;
    const auto first = static_cast<std::uint8_t*>(tensors[0].addr);
    const auto offset = static_cast<std::uint8_t*>(tensors[1].addr) - first;
    std::memset(wide.data, 0x77, wide.size);
    tensors[0].addr = wide.data;
    tensors[1].addr = wide.bytes() + 64;
    model.bind();
    model.fill(5);
    EQUAL(xmedia_cl_graph_process(model.graph), 0);
    const auto bytes = expected(held(*model.in), *model.out);
    CHECK(std::memcmp(wide.data, bytes.data(), tensors[0].size) == 0);
    CHECK(std::memcmp(wide.bytes() + offset, bytes.data() + tensors[0].size, tensors[1].size) == 0);
    if (offset != 64) {
        EQUAL(wide.bytes()[64 + tensors[1].size - 1], 0x77);
    }
    // The last before the first: an empty range, and no error.
    std::memset(wide.data, 0x66, wide.size);
    wide.flush();
    tensors[0].addr = wide.bytes() + 1024;
    tensors[1].addr = wide.data;
    model.bind();
    EQUAL(xmedia_cl_graph_process(model.graph), 0);
    wide.flush();
    EQUAL(wide.bytes()[1024], 0x66);
    EQUAL(wide.bytes()[0], 0x66);
}

void batch(Npu& npu, const std::string& path) {
    constexpr xmedia_cl_u32 items = 3;
    Model model(npu, path, true, items);
    for (xmedia_cl_u32 i = 0; i < model.in->info.num; ++i) {
        EQUAL(xmedia_cl_graph_set_dynamic_batch_size(model.graph, &model.in->info, i, items), 0);
    }
    model.bind();
    for (xmedia_cl_u32 i = 0; i < model.input.size; ++i) {
        model.input.bytes()[i] = static_cast<std::uint8_t>(i * 11 + i / 7);
    }
    EQUAL(xmedia_cl_graph_process(model.graph), 0);
    for (xmedia_cl_u32 item = 0; item < items; ++item) {
        CHECK(held(*model.out, item * model.info.outputsize) ==
              expected(held(*model.in, item * model.info.inputsize), *model.out));
    }
    CHECK(held(*model.out) != held(*model.out, model.info.outputsize));
}

/// XMEDIA_SIM_STRICT=1: nobody flushes but this.
void flushes(Npu& npu, const std::string& path) {
    Model model(npu, path);
    model.bind();
    model.fill(1);
    model.input.flush();
    EQUAL(xmedia_cl_graph_process(model.graph), 0);
    const auto right = expected(held(*model.in), *model.out);
    CHECK(model.result() != right);  // not flushed after the run
    EQUAL(model.output.bytes()[0], 0x5E);
    model.output.flush();
    CHECK(model.result() == right);
    // The same input once more, although nothing seems to change.
    model.fill(1);
    model.input.flush();
    EQUAL(xmedia_cl_graph_process(model.graph), 0);
    model.output.flush();
    CHECK(model.result() == right);
    model.fill(2);  // not flushed before the run
    EQUAL(xmedia_cl_graph_process(model.graph), 0);
    model.output.flush();
    CHECK(model.result() == right);
    model.input.flush();
    EQUAL(xmedia_cl_graph_process(model.graph), 0);
    model.output.flush();
    CHECK(model.result() == expected(held(*model.in), *model.out));
}

/// Reuse types 1 to 3: what lives in the workspace is gone after the run.
void reuse(Npu& npu, const std::string& path) {
    Model model(npu, path);
    const auto type = model.info.memory_reuse_type;
    CHECK(type != XMEDIA_CL_WORKSPACE);
    const bool in_workspace = type != XMEDIA_CL_WORKSPACE_OUTPUT;
    const bool out_workspace = type != XMEDIA_CL_WORKSPACE_INPUT;
    CHECK((model.in->tensor[0].addr == model.workspace.data) == in_workspace);
    CHECK((model.out->tensor[0].addr == model.workspace.data) == out_workspace);
    for (int run = 0; run < 3; ++run) {
        model.bind();
        model.fill(4);  // the same each time
        const auto inputs = held(*model.in);
        model.input.flush();
        model.workspace.flush();
        EQUAL(xmedia_cl_graph_process(model.graph), 0);
        model.output.flush();
        model.workspace.flush();
        CHECK(model.result() == expected(inputs, *model.out));
        CHECK((held(*model.in) != inputs) == in_workspace);
    }
}

void shared_workspace(Npu& npu, const std::string& path) {
    const xmedia_cl_mem_info info = Model::query(path);
    const Buffer work(info.worksize + 8);
    EQUAL(xmedia_cl_set_workspace_addr(npu.context, work.data, work.size), 0);
    const Buffer weights_a(info.weightsize + 8);
    const Buffer weights_b(info.weightsize + 8);
    xmedia_cl_graph graphs[2] = {};
    const Buffer* weights[2] = {&weights_a, &weights_b};
    for (int i = 0; i < 2; ++i) {
        void* address = nullptr;
        xmedia_cl_u32 size = 0;
        EQUAL(xmedia_cl_get_workspace_addr(npu.context, &address, &size), 0);
        EQUAL(xmedia_cl_graph_loadmodel_from_file_withmem(&npu.context, path.c_str(), address, size, weights[i]->data,
                                                          weights[i]->size, &graphs[i]),
              0);
    }
    for (const xmedia_cl_graph graph : graphs) {
        const Buffer in_memory(info.inputsize);
        const Buffer out_memory(info.outputsize);
        Tensors in(graph, xmedia_cl_graph_get_input);
        Tensors out(graph, xmedia_cl_graph_get_output);
        in.bind(in_memory.data);
        out.bind(out_memory.data);
        EQUAL(xmedia_cl_graph_set_inout(graph, &in.info, &out.info), 0);
        EQUAL(xmedia_cl_graph_process(graph), 0);
        CHECK(held(out) == expected(held(in), out));
        EQUAL(xmedia_cl_graph_unload(graph), 0);
    }
}

/// Runs with the bytes of files, prints the outputs: for golden vectors.
void with_files(Npu& npu, const std::string& path, int count, char** files) {
    Model model(npu, path);
    model.bind();
    for (int i = 0; i < count; ++i) {
        std::FILE* file = std::fopen(files[i], "rb");
        CHECK(file != nullptr);
        const auto& tensor = model.in->tensor[static_cast<std::size_t>(i)];
        CHECK(std::fread(tensor.addr, 1, tensor.size, file) == tensor.size);
        std::fclose(file);
    }
    EQUAL(xmedia_cl_graph_process(model.graph), 0);
    std::printf("out");
    for (const std::uint8_t byte : model.result()) {
        std::printf(" %02x", byte);
    }
    std::printf("\n");
}

}  // namespace

int main(int argc, char** argv) {
    CHECK(argc >= 3);
    const std::string what = argv[1];
    using Run = void (*)(Npu&, const std::string&);
    const std::map<std::string, Run> all = {
        {"usual", usual},     {"plain", plain_load}, {"spacing", spacing},        {"batch", batch},
        {"flushes", flushes}, {"reuse", reuse},      {"shared", shared_workspace}};
    Npu npu;
    if (what == "files") {
        with_files(npu, argv[2], argc - 3, argv + 3);
    } else {
        all.at(what)(npu, argv[2]);
    }
    return 0;
}
