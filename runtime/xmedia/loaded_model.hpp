// SPDX-License-Identifier: EPL-2.0
// Everything of a session that is there before and after a run: stages 1 to 6, and 8.
#pragma once

#include <xmedia_cl.h>

#include <cstddef>
#include <cstdint>

#include "xmedia/binding.hpp"
#include "xmedia/config.hpp"
#include "xmedia/device.hpp"
#include "xmedia/failure.hpp"
#include "xmedia/mmz.hpp"
#include "xmedia/model_file.hpp"
#include "xmedia/quantise.hpp"

namespace export_xmedia {

class LoadedModel {
public:
    explicit constexpr LoadedModel(const SessionConfig& config) : config_(config) {}
    LoadedModel(const LoadedModel&) = delete;
    LoadedModel& operator=(const LoadedModel&) = delete;

    /// Stages 1 to 6, and the buffers bound. What was done when one fails, release() undoes.
    bool open(const char* path, StageTimes* times) {
        path_ = path;
        bool ok = false;
        {
            const StageTimer timer(&times->check);
            ok = valid() && checked();
        }
        if (ok) {
            const StageTimer timer(&times->init);
            ok = started_ = device.acquire();
        }
        if (ok) {
            const StageTimer timer(&times->load);
            ok = query() && load() && describe() && place() && apply_batch(config_.batch) && bind() &&
                 // Lines that someone else left dirty would be written over the NPU's results later.
                 outputs.flush(config_.batch);
        }
        return ok;
    }

    /// Stage 8, for as much as there is. A graph that cannot be unloaded keeps its memory, for another attempt.
    Complaint release() {
        Complaint first;
        if (graph_ != nullptr) {
            first.note("xmedia_cl_graph_unload", xmedia_cl_graph_unload(graph_));
            if (first.code != 0) {
                return first;
            }
            graph_ = nullptr;
        }
        inputs.release();
        outputs.release();
        workspace_.release();
        weights_.release();
        if (started_) {
            const Complaint other = device.release();
            first.note(other.call, other.code);
            started_ = false;
        }
        return first;
    }

    xmedia_cl_graph graph() const { return graph_; }

    /// Tells the graph where inputs and outputs are.
    bool bind() {
        return check(Stage::run, "xmedia_cl_graph_set_inout",
                     xmedia_cl_graph_set_inout(graph_, inputs.arrays().info(), outputs.arrays().info()));
    }

    /// Tells the graph how many items a run takes; it must be bound afterwards.
    bool apply_batch(std::uint32_t batch) {
        if (batch == 1 && batch_ == 1) {
            return true;  // what it is after loading
        }
        for (std::size_t i = 0; i < config_.inputs.count; ++i) {
            const auto index = static_cast<xmedia_cl_u32>(i);
            const int code = xmedia_cl_graph_set_dynamic_batch_size(graph_, inputs.arrays().info(), index, batch);
            if (code != 0) {
                return fail(Stage::tensors, "xmedia_cl_graph_set_dynamic_batch_size", code);
            }
        }
        batch_ = batch;
        return true;
    }

    std::uint32_t batch() const { return batch_; }

    Binding inputs{"input", 1};
    Binding outputs{"output", 2};

private:
    bool inputs_in_workspace() const { return (config_.reuse_type & 1U) != 0; }
    bool outputs_in_workspace() const { return (config_.reuse_type & 2U) != 0; }

    /// Whether the configuration is one that can work.
    bool valid() const {
        const SessionConfig& c = config_;
        if (c.inputs.count == 0 || c.outputs.count == 0 || c.reuse_type > 3 || c.batch == 0 || c.batch > max_batch) {
            return fail_text(Stage::check, "the configuration has %zu inputs, %zu outputs, reuse type %u, batch %u",
                             c.inputs.count, c.outputs.count, static_cast<unsigned>(c.reuse_type),
                             static_cast<unsigned>(c.batch));
        }
        if (c.batch > 1 && c.reuse_type != 0) {
            return fail_text(Stage::check, "no batch of %u: the workspace holds inputs or outputs of one item only",
                             static_cast<unsigned>(c.batch));
        }
        if (c.shared_workspace != 0 && !c.own_memory) {
            return fail_text(Stage::check, "a shared workspace needs memory of the session's own");
        }
        if (c.preprocessing.count != 0 && c.preprocessing.count != c.inputs.count) {
            return fail_text(Stage::check, "preprocessing for %zu of %zu inputs", c.preprocessing.count,
                             c.inputs.count);
        }
        bool ok = true;
        for (std::size_t i = 0; i < c.inputs.count; ++i) {
            ok = ok && convertible(c.inputs[i], c.preprocessing.count != 0 ? c.preprocessing[i] : Preprocessing{});
        }
        for (const TensorSpec& spec : c.outputs) {
            ok = ok && convertible(spec);
        }
        return ok;
    }

    bool checked() const {
        return (config_.file_size == 0 && config_.file_crc == 0) ||
               check_model_file(path_, config_.file_size, config_.file_crc);
    }

    /// Stage 3.
    bool query() {
        int code = xmedia_cl_graph_querysize_from_file(path_, &worksize_, &weightsize_);
        if (code != 0) {
            return fail(Stage::query, "xmedia_cl_graph_querysize_from_file", code);
        }
        xmedia_cl_mem_info info{};
        code = xmedia_cl_graph_query_model_info_from_file(path_, &info, XMEDIA_CL_MEM_INFO);
        if (code != 0) {
            return fail(Stage::query, "xmedia_cl_graph_query_model_info_from_file", code);
        }
        const auto type = static_cast<unsigned>(info.memory_reuse_type);
        return type == config_.reuse_type ||
               fail_text(Stage::query, "the file has memory reuse type %u, this program %u", type,
                         static_cast<unsigned>(config_.reuse_type));
    }

    /// Stages 4 and 5.
    bool load() {
        if (!config_.own_memory) {
            return loaded("xmedia_cl_graph_loadmodel_from_file",
                          xmedia_cl_graph_loadmodel_from_file(device.context(), path_, &graph_));
        }
        void* workspace = nullptr;
        xmedia_cl_u32 size = 0;
        if (!allocate_workspace(&workspace, &size) || !weights_.allocate("npu_weight", weightsize_, true)) {
            return false;
        }
        return loaded("xmedia_cl_graph_loadmodel_from_file_withmem",
                      xmedia_cl_graph_loadmodel_from_file_withmem(device.context(), path_, workspace, size,
                                                                  weights_.data(), weights_.bytes(), &graph_));
    }

    bool loaded(const char* call, int code) {
        if (code != 0) {
            graph_ = nullptr;
            return fail(Stage::load, call, code);
        }
        return graph_ != nullptr || fail_text(Stage::load, "%s gave no graph", call);
    }

    bool allocate_workspace(void** data, xmedia_cl_u32* size) {
        // The library flushes a cached workspace at every run; only inputs and outputs in it are worth a cache.
        const bool cached = config_.cached && config_.reuse_type != 0;
        if (config_.shared_workspace == 0) {
            const bool ok = workspace_.allocate("npu_workspace", worksize_, cached);
            *data = workspace_.data();
            *size = workspace_.bytes();
            return ok;
        }
        if (!device.shared_workspace(config_.shared_workspace, cached, data, size)) {
            return false;
        }
        // The library does not look: a workspace too small would be overrun.
        return *size >= worksize_ ||
               fail_text(Stage::memory, "the shared workspace has %u bytes, the model needs %u", *size, worksize_);
    }

    /// Stage 6.
    bool describe() {
        return read_tensors(graph_, "input", "xmedia_cl_graph_get_input", xmedia_cl_graph_get_input, config_.inputs,
                            &inputs.arrays()) &&
               read_tensors(graph_, "output", "xmedia_cl_graph_get_output", xmedia_cl_graph_get_output, config_.outputs,
                            &outputs.arrays());
    }

    bool place() {
        return (inputs_in_workspace() ? inputs.adopt(config_.inputs)
                                      : inputs.allocate(config_.inputs, config_.batch, config_.cached)) &&
               (outputs_in_workspace() ? outputs.adopt(config_.outputs)
                                       : outputs.allocate(config_.outputs, config_.batch, config_.cached)) &&
               (config_.priority == priority_unset ||
                check(Stage::tensors, "xmedia_cl_graph_set_schedule_prio",
                      xmedia_cl_graph_set_schedule_prio(graph_, static_cast<xmedia_cl_u32>(config_.priority))));
    }

    const SessionConfig& config_;
    const char* path_ = "";
    xmedia_cl_u32 worksize_ = 0;
    xmedia_cl_u32 weightsize_ = 0;
    MmzBlock workspace_;
    MmzBlock weights_;
    xmedia_cl_graph graph_ = nullptr;
    std::uint32_t batch_ = 1;
    bool started_ = false;
};

}  // namespace export_xmedia
