// SPDX-License-Identifier: EPL-2.0
// A model on the NPU: loads a .xmm, runs it, releases it. See failure.hpp for the stages and for what goes wrong.
#pragma once

#include <xmedia_cl.h>

#include <cstddef>
#include <cstdint>

#include "xmedia/config.hpp"
#include "xmedia/device.hpp"
#include "xmedia/failure.hpp"
#include "xmedia/job.hpp"
#include "xmedia/loaded_model.hpp"
#include "xmedia/quantise.hpp"

namespace export_xmedia {

/// All functions that return bool leave a line in last_error when they return false. A session belongs to one thread;
/// sessions of several threads may run at the same time unless they share a workspace. Where inputs or outputs live in
/// a shared workspace, write, run and read without another session's run in between.
class Session {
public:
    explicit constexpr Session(const SessionConfig& config) : config_(config), model_(config) {}
    explicit Session(const SessionConfig&&) = delete;  // it would not outlive the session
    ~Session() { close(); }
    Session(const Session&) = delete;
    Session& operator=(const Session&) = delete;

    /// Goes through the stages 1 to 6 and binds the buffers. Leaves nothing behind when it fails.
    /// \param path Of the model file, in place of the one in the configuration.
    bool open(const char* path = nullptr) {
        if (open_) {
            return fail_text(Stage::check, "the session is open already");
        }
        if (!close()) {  // what an earlier one could not release
            return false;
        }
        times_ = {};
        open_ = model_.open(path != nullptr ? path : config_.path, &times_);
        if (!open_) {
            model_.release();
        }
        return open_;
    }

    /// Stage 8. Waits for a run that is under way.
    /// \return Whether the library had nothing to complain of.
    bool close() {
        job_.end();
        device.unclaim(this);
        open_ = false;
        const Complaint first = model_.release();
        return check(Stage::release, first.call, first.code);
    }

    bool is_open() const { return open_; }

    /// Quantises dense float values into an input of an item of the batch.
    bool write(std::size_t i, const float* source, std::uint32_t item = 0) {
        if (!usable(config_.inputs, "input", i, item)) {
            return false;
        }
        const StageTimer timer(&times_.copy_in);
        const Preprocessing none{};
        return quantise(config_.inputs[i], source, model_.inputs.at(i, item),
                        i < config_.preprocessing.count ? config_.preprocessing[i] : none);
    }

    /// Copies dense values of the input's own type.
    bool write_raw(std::size_t i, const void* source, std::uint32_t item = 0) {
        if (!usable(config_.inputs, "input", i, item)) {
            return false;
        }
        const StageTimer timer(&times_.copy_in);
        copy_in(config_.inputs[i], source, model_.inputs.at(i, item));
        return true;
    }

    /// Runs the model on all items of the batch and waits. What lives in the workspace must be written before each run.
    bool run() {
        if (!before_run()) {
            return false;
        }
        bool ok = false;
        {
            const StageTimer timer(&times_.process);
            ok = rebind() && check(Stage::run, "xmedia_cl_graph_process", xmedia_cl_graph_process(model_.graph()));
        }
        return after_run(ok);
    }

    /// Starts a run. Buffers belong to the NPU until wait().
    bool submit(Callback callback = nullptr, void* user = nullptr) {
        if (!before_run()) {
            return false;
        }
        submitted_ = export_common::nanoseconds();
        if (!rebind() || !job_.submit(model_.graph(), callback, user)) {
            device.unclaim(this);
            return false;
        }
        return true;
    }

    /// Waits for what submit() started.
    bool wait() {
        if (!job_.pending()) {
            return fail_text(Stage::run, "there is no run to wait for");
        }
        const bool ok = job_.wait();
        times_.process += export_common::nanoseconds() - submitted_;
        return after_run(ok);
    }

    /// Dense float values of an output of an item of the batch.
    bool read(std::size_t i, float* target, std::uint32_t item = 0) {
        if (!usable(config_.outputs, "output", i, item)) {
            return false;
        }
        const StageTimer timer(&times_.copy_out);
        return dequantise(config_.outputs[i], model_.outputs.at(i, item), target);
    }

    /// Dense values of the output's own type.
    bool read_raw(std::size_t i, void* target, std::uint32_t item = 0) {
        if (!usable(config_.outputs, "output", i, item)) {
            return false;
        }
        const StageTimer timer(&times_.copy_out);
        copy_out(config_.outputs[i], model_.outputs.at(i, item), target);
        return true;
    }

    /// The NPU's own buffers, with gaps as the pitches say; nullptr while there are none.
    void* input(std::size_t i, std::uint32_t item = 0) {
        return usable(config_.inputs, "input", i, item) ? model_.inputs.at(i, item) : nullptr;
    }
    const void* output(std::size_t i, std::uint32_t item = 0) const {
        return usable(config_.outputs, "output", i, item) ? model_.outputs.at(i, item) : nullptr;
    }

    /// How many items the next runs take, at most as many as there is room for.
    bool set_batch(std::uint32_t batch) {
        if (!idle()) {
            return false;
        }
        if (batch == 0 || batch > config_.batch) {
            return fail_text(Stage::run, "a batch of %u, there is room for %u", static_cast<unsigned>(batch),
                             static_cast<unsigned>(config_.batch));
        }
        return model_.apply_batch(batch) && model_.bind();
    }

    std::uint32_t batch() const { return model_.batch(); }

    /// 0 to 3, most urgent last.
    bool set_priority(std::uint32_t priority) {
        return idle() && check(Stage::run, "xmedia_cl_graph_set_schedule_prio",
                               xmedia_cl_graph_set_schedule_prio(model_.graph(), priority));
    }

    /// What the model's author put into the file; nullptr when there is nothing. Valid until close().
    const void* private_data(std::uint32_t* bytes) const {
        void* data = nullptr;
        *bytes = 0;
        return open_ && xmedia_cl_graph_get_private_data(model_.graph(), &data, bytes) == 0 ? data : nullptr;
    }

    const StageTimes& times() const { return times_; }
    static const char* error() { return last_error; }

private:
    bool usable(const export_common::Table<TensorSpec>& specs, const char* what, std::size_t i,
                std::uint32_t item) const {
        if (!open_) {
            return fail_text(Stage::run, "the session is not open");
        }
        return (i < specs.count && item < config_.batch) ||
               fail_text(Stage::run, "there is no %s %zu of item %u", what, i, static_cast<unsigned>(item));
    }

    bool idle() const {
        if (!open_) {
            return fail_text(Stage::run, "the session is not open");
        }
        return !job_.pending() || fail_text(Stage::run, "a run is under way: wait for it first");
    }

    bool before_run() {
        if (!idle() || (config_.shared_workspace != 0 && !device.claim(this))) {
            return false;
        }
        const StageTimer timer(&times_.flush);
        if (!model_.inputs.flush(model_.batch())) {
            device.unclaim(this);
            return false;
        }
        return true;
    }

    /// A run clobbers what lives in the workspace, and the library forgets that it was bound.
    bool rebind() { return config_.reuse_type == 0 || model_.bind(); }

    bool after_run(bool ok) {
        const StageTimer timer(&times_.flush);
        device.unclaim(this);
        ++times_.runs;
        return ok && model_.outputs.flush(model_.batch());
    }

    const SessionConfig& config_;
    LoadedModel model_;
    Job job_;
    StageTimes times_;
    std::uint64_t submitted_ = 0;
    bool open_ = false;
};

}  // namespace export_xmedia
