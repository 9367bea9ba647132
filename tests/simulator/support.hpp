// SPDX-License-Identifier: EPL-2.0
// What the test programs share: checks, and a model that is ready to run.
#pragma once

#include "xmedia_cl.h"
#include "xmedia_mmz.h"
#include "xmedia_sys.h"

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

inline void check(bool good, const char* what, int line) {
    if (!good) {
        std::fprintf(stderr, "line %d: %s\n", line, what);
        std::exit(1);
    }
}
#define CHECK(condition) check(condition, #condition, __LINE__)

inline void check_equal(long long found, long long expected, const char* what, int line) {
    if (found != expected) {
        std::fprintf(stderr, "line %d: %s is %lld, not %lld\n", line, what, found, expected);
        std::exit(1);
    }
}
#define EQUAL(found, expected) check_equal(static_cast<long long>(found), expected, #found, __LINE__)

struct Buffer {
    xmedia_u64 physical = 0;
    void* data = nullptr;
    xmedia_u32 size = 0;

    explicit Buffer(xmedia_u32 bytes, bool cached = true) : size(bytes) {
        physical = xmedia_mmz_alloc(nullptr, "test", bytes);
        CHECK(physical != 0);
        data = xmedia_mmz_map(physical, bytes, cached ? XMEDIA_TRUE : XMEDIA_FALSE);
        CHECK(data != nullptr);
    }
    Buffer(const Buffer&) = delete;
    Buffer& operator=(const Buffer&) = delete;
    ~Buffer() {
        if (data != nullptr) {
            CHECK(xmedia_mmz_unmap(data) == 0 && xmedia_mmz_free(physical) == 0);
        }
    }
    std::uint8_t* bytes() const { return static_cast<std::uint8_t*>(data); }
    void flush() const { EQUAL(xmedia_mmz_flush_cache(physical, data, size), 0); }
};

/// System, runtime, context.
struct Npu {
    xmedia_cl_u32 count = 0;
    xmedia_cl_device_id devices[2] = {};
    xmedia_cl_context context = nullptr;

    Npu() {
        CHECK(xmedia_sys_init(nullptr) == 0 && xmedia_cl_init() == 0);
        CHECK(xmedia_cl_get_device_ids(XMEDIA_CL_DEVICE_ALL, devices, &count) == 0);
        xmedia_cl_s32 err = 1;
        context = xmedia_cl_create_context(count, devices, &err);
        CHECK(context != nullptr && err == 0);
    }
    Npu(const Npu&) = delete;
    Npu& operator=(const Npu&) = delete;
    ~Npu() {
        EQUAL(xmedia_cl_release_context(context), 0);
        EQUAL(xmedia_cl_release_device_ids(devices, &count), 0);
        EQUAL(xmedia_cl_uninit(), 0);
        EQUAL(xmedia_sys_exit(), 0);
    }
};

/// Inputs or outputs with their three arrays.
struct Tensors {
    xmedia_cl_tensor_info_inout info{};
    std::vector<xmedia_cl_tensor> tensor;
    std::vector<xmedia_cl_tensor_batch> batch;
    std::vector<xmedia_cl_u32> current;

    using Get = xmedia_cl_s32 (*)(xmedia_cl_graph, xmedia_cl_u32, xmedia_cl_tensor_info_inout*);
    Tensors(xmedia_cl_graph graph, Get get) {
        EQUAL(get(graph, 0, &info), 0);
        tensor.resize(info.num);
        batch.resize(info.num);
        current.resize(info.num);
        info.tensor = tensor.data();
        info.tensor_batch = batch.data();
        info.current_batch = current.data();
        EQUAL(get(graph, info.num, &info), 0);
    }
    Tensors(const Tensors&) = delete;
    Tensors& operator=(const Tensors&) = delete;

    /// At the offsets that the model has, which are what addr holds before.
    void bind(void* base) {
        for (auto& each : tensor) {
            each.addr = static_cast<std::uint8_t*>(base) + reinterpret_cast<std::uintptr_t>(each.addr);
        }
    }
};

/// A loaded model with memory of the caller.
struct Model {
    xmedia_cl_mem_info info{};
    Buffer workspace, weights, input, output;
    xmedia_cl_graph graph = nullptr;
    Tensors *in = nullptr, *out = nullptr;

    Model(Npu& npu, const std::string& path, bool cached = true, xmedia_cl_u32 batch = 1)
        : info(query(path)), workspace(info.worksize + 8), weights(info.weightsize + 8),
          input(batch * info.inputsize, cached), output(batch * info.outputsize, cached) {
        EQUAL(xmedia_cl_graph_loadmodel_from_file_withmem(&npu.context, path.c_str(), workspace.data, workspace.size,
                                                          weights.data, weights.size, &graph),
              0);
        in = new Tensors(graph, xmedia_cl_graph_get_input);
        out = new Tensors(graph, xmedia_cl_graph_get_output);
        if (info.memory_reuse_type == 0 || info.memory_reuse_type == 2) {
            in->bind(input.data);
        }
        if (info.memory_reuse_type == 0 || info.memory_reuse_type == 1) {
            out->bind(output.data);
        }
    }
    Model(const Model&) = delete;
    Model& operator=(const Model&) = delete;
    ~Model() {
        delete in;
        delete out;
        EQUAL(xmedia_cl_graph_unload(graph), 0);
    }
    static xmedia_cl_mem_info query(const std::string& path) {
        xmedia_cl_mem_info found{};
        EQUAL(xmedia_cl_graph_query_model_info_from_file(path.c_str(), &found, XMEDIA_CL_MEM_INFO), 0);
        return found;
    }
    void bind() { EQUAL(xmedia_cl_graph_set_inout(graph, &in->info, &out->info), 0); }

    void fill(unsigned seed) const {
        for (const auto& tensor : in->tensor) {
            for (xmedia_cl_u32 i = 0; i < tensor.size; ++i) {
                static_cast<std::uint8_t*>(tensor.addr)[i] = static_cast<std::uint8_t>(seed * 31 + i * 7);
            }
        }
    }
    std::vector<std::uint8_t> result() const {
        std::vector<std::uint8_t> bytes;
        for (const auto& tensor : out->tensor) {
            const auto* data = static_cast<const std::uint8_t*>(tensor.addr);
            bytes.insert(bytes.end(), data, data + tensor.size);
        }
        return bytes;
    }
};

/// What docs/simulator.md says of outputs without a reference.
inline std::uint8_t pattern(std::uint32_t crc, std::uint32_t output, std::uint32_t byte) {
    return static_cast<std::uint8_t>(((crc + output) * 2654435761U + byte * 2246822519U) >> 24);
}
