// SPDX-License-Identifier: EPL-2.0
#include "common/application.hpp"

#include <unistd.h>

#include <cstdio>
#include <vector>

#include "common/clock.hpp"
#include "common/cpu.hpp"
#include "common/files.hpp"
#include "common/message.hpp"
#include "common/options.hpp"
#include "common/report.hpp"
#include "common/tensor.hpp"

namespace export_common {
namespace {

/// Inputs as the forward function takes them: compiled in, or read from files.
class Inputs {
public:
    bool load(const Model& model, const Options& options) {
        if (options.inputs.empty()) {
            pointers_.assign(model.samples.begin(), model.samples.end());
            return true;
        }
        if (options.inputs.size() != model.inputs.count) {
            complain("--input names %zu files, the model takes %zu: see --help", options.inputs.size(),
                     model.inputs.count);
            return false;
        }
        for (std::size_t i = 0; i < model.inputs.count; ++i) {
            if (!load_one(options.inputs[i], model.inputs[i])) {
                return false;
            }
        }
        return true;
    }

    const void* const* pointers() const { return pointers_.data(); }

private:
    bool load_one(const char* file, const TensorInfo& tensor) {
        Buffer onnx(tensor_bytes(tensor));
        if (onnx.data() == nullptr) {
            return out_of_memory(tensor);
        }
        if (!read_tensor(file, tensor, onnx.data())) {
            return false;
        }
        if (tensor.permutation.empty()) {
            buffers_.push_back(std::move(onnx));
        } else {
            Buffer device(tensor_bytes(tensor));
            if (device.data() == nullptr) {
                return out_of_memory(tensor);
            }
            to_device(tensor, onnx.data(), device.data());
            buffers_.push_back(std::move(device));
        }
        pointers_.push_back(buffers_.back().data());
        return true;
    }

    static bool out_of_memory(const TensorInfo& tensor) {
        complain("not enough memory for input '%s' (%zu bytes)", tensor.name, tensor_bytes(tensor));
        return false;
    }

    std::vector<Buffer> buffers_;
    std::vector<const void*> pointers_;
};

bool choose_model_file(const Model& model, const char* path) {
    if (model.model_file == nullptr) {
        complain("--model: model '%s' has no part that runs on an NPU", model.name);
        return false;
    }
    if (!check_readable(path)) {
        return false;
    }
    model.model_file(path);
    return true;
}

/// Sends what is written to the standard output to the standard error: drivers' libraries greet while they start, and
/// the standard output belongs to the results.
class QuietOutput {
public:
    QuietOutput() : saved_(dup(STDOUT_FILENO)) { redirect(STDERR_FILENO); }
    ~QuietOutput() {
        redirect(saved_);
        if (saved_ >= 0) {
            close(saved_);
        }
    }
    QuietOutput(const QuietOutput&) = delete;
    QuietOutput& operator=(const QuietOutput&) = delete;

private:
    void redirect(int target) const {
        std::fflush(stdout);
        if (saved_ >= 0) {
            dup2(target, STDOUT_FILENO);
        }
    }

    int saved_;
};

bool start(const Model& model, Measurement& measurement) {
    const QuietOutput quiet;
    const std::uint64_t begin = nanoseconds();
    const int status = model.init();
    measurement.init_ms = static_cast<double>(nanoseconds() - begin) / 1e6;
    if (status != 0) {
        complain("model '%s' does not start: %s", model.name, model.error());
    }
    return status == 0;
}

bool forward(const Model& model, const Inputs& inputs, std::vector<const void*>& outputs) {
    outputs.assign(model.outputs.count, nullptr);
    model.forward(inputs.pointers(), outputs.data());
    for (const void* output : outputs) {
        if (output == nullptr) {
            complain("model '%s' failed: %s", model.name, model.error());
            return false;
        }
    }
    return true;
}

bool measure(const Model& model, const Options& options, const Inputs& inputs, std::vector<const void*>& outputs,
             Measurement& measurement) {
    measurement.warmup = options.warmup;
    measurement.iterations = options.iterations == 0 ? 1 : options.iterations;
    measurement.profiled = options.profile;
    for (std::size_t i = 0; i < measurement.warmup; ++i) {
        if (!forward(model, inputs, outputs)) {
            return false;
        }
    }
    std::vector<double> times(measurement.iterations);
    model.profile(options.profile ? 1 : 0);
    for (double& time : times) {
        const std::uint64_t begin = nanoseconds();
        if (!forward(model, inputs, outputs)) {
            return false;
        }
        time = static_cast<double>(nanoseconds() - begin) / 1e6;
    }
    model.profile(0);
    measurement.run = summarize(times);
    return true;
}

bool write_outputs(const Model& model, const char* folder, const std::vector<const void*>& outputs) {
    if (!make_folder(folder)) {
        return false;
    }
    for (std::size_t i = 0; i < model.outputs.count; ++i) {
        const TensorInfo& tensor = model.outputs[i];
        const Buffer onnx(tensor_bytes(tensor));
        if (onnx.data() == nullptr) {
            complain("not enough memory for output '%s' (%zu bytes)", tensor.name, tensor_bytes(tensor));
            return false;
        }
        to_onnx(tensor, outputs[i], onnx.data());
        if (!write_output(folder, i, onnx.data(), tensor_bytes(tensor))) {
            return false;
        }
    }
    return true;
}

void print(const Model& model, const Options& options, const std::vector<const void*>& outputs,
           const Measurement& measurement) {
    if (options.json) {
        print_json(model, measurement);
        return;
    }
    if (options.iterations != 0 || options.profile) {
        print_times(measurement);
    }
    if (options.profile) {
        print_layers(model, measurement);
    }
    if (options.iterations == 0 && !options.profile && options.output == nullptr) {
        print_values(model, outputs);
    }
}

}  // namespace

int run(int argc, const char* const* argv, const Model& model) {
    // Before everything else: even this file may have been compiled to vector instructions.
    if (const char* const message = missing_cpu_feature()) {
        complain("%s", message);
        return exit_failed;
    }
    Options options;
    if (!parse(argc, argv, options)) {
        return exit_usage;
    }
    if (options.help) {
        print_help(model);
        return exit_ok;
    }
    if (options.model != nullptr && !choose_model_file(model, options.model)) {
        return exit_usage;
    }
    // All that can be wrong with the command line is found before anything runs or is written.
    Inputs inputs;
    if ((options.output != nullptr && !check_output_folder(options.output)) || !inputs.load(model, options)) {
        return exit_usage;
    }
    Measurement measurement;
    std::vector<const void*> outputs;
    if (!start(model, measurement) || !measure(model, options, inputs, outputs, measurement) ||
        (options.output != nullptr && !write_outputs(model, options.output, outputs))) {
        return exit_failed;
    }
    print(model, options, outputs, measurement);
    if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) {
        complain("cannot write to the standard output");
        return exit_failed;
    }
    return exit_ok;
}

}  // namespace export_common
