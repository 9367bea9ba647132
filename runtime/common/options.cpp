// SPDX-License-Identifier: EPL-2.0
#include "common/options.hpp"

#include <cstdio>
#include <cstring>

#include "common/message.hpp"
#include "common/tensor.hpp"

namespace export_common {
namespace {

// The times of all iterations are kept, 8 bytes each.
constexpr std::size_t max_count = 1'000'000;

bool is_switch(const char* text) {
    return text[0] == '-' && text[1] != '\0';
}

/// Digits only: strtoul would take "-1", " 1" and "1x".
bool read_count(const char* text, std::size_t& count) {
    count = 0;
    if (*text == '\0') {
        return false;
    }
    for (; *text != '\0'; ++text) {
        if (*text < '0' || *text > '9') {
            return false;
        }
        count = count * 10 + static_cast<std::size_t>(*text - '0');
        if (count > max_count) {
            return false;
        }
    }
    return true;
}

/// Walks over the arguments.
class Parser {
public:
    Parser(int argc, const char* const* argv, Options& options)
        : next_(argv + (argc > 0 ? 1 : 0)), end_(argv + argc), options_(options) {}

    bool parse() {
        while (next_ != end_) {
            const char* const name = *next_++;
            if (!parse_switch(name)) {
                return false;
            }
        }
        return true;
    }

private:
    bool parse_switch(const char* name) {
        const auto is = [name](const char* other) { return std::strcmp(name, other) == 0; };
        if (is("--help") || is("-h")) {
            options_.help = true;
            return true;
        }
        if (is("--json")) {
            return flag(name, options_.json);
        }
        if (is("--profile")) {
            return flag(name, options_.profile);
        }
        if (is("--warmup")) {
            return flag(name, warmup_given_) && count(name, 0, options_.warmup);
        }
        if (is("--iterations")) {
            return once(name, options_.iterations != 0) && count(name, 1, options_.iterations);
        }
        if (is("--output")) {
            return once(name, options_.output != nullptr) && file(name, options_.output);
        }
        if (is("--model")) {
            return once(name, options_.model != nullptr) && file(name, options_.model);
        }
        if (is("--input")) {
            return once(name, !options_.inputs.empty()) && files(name);
        }
        complain("unknown argument '%s': see --help", name);
        return false;
    }

    static bool once(const char* name, bool given) {
        if (given) {
            complain("%s is given twice", name);
        }
        return !given;
    }

    static bool flag(const char* name, bool& value) {
        const bool fresh = once(name, value);
        value = true;
        return fresh;
    }

    bool count(const char* name, std::size_t least, std::size_t& value) {
        if (next_ == end_ || !read_count(*next_, value) || value < least) {
            complain("%s needs a whole number from %zu to %zu, not '%s'", name, least, max_count,
                     next_ == end_ ? "" : *next_);
            return false;
        }
        ++next_;
        return true;
    }

    bool file(const char* name, const char*& value) {
        if (next_ == end_ || is_switch(*next_) || **next_ == '\0') {
            complain("%s needs the name of a %s", name, &value == &options_.output ? "folder" : "file");
            return false;
        }
        value = *next_++;
        return true;
    }

    bool files(const char* name) {
        while (next_ != end_ && !is_switch(*next_)) {
            options_.inputs.push_back(*next_++);
        }
        if (options_.inputs.empty()) {
            complain("%s needs one file per input of the model", name);
        }
        return !options_.inputs.empty();
    }

    const char* const* next_;
    const char* const* end_;
    Options& options_;
    bool warmup_given_ = false;
};

void print_tensors(const char* title, const Table<TensorInfo>& tensors) {
    for (const TensorInfo& tensor : tensors) {
        std::printf("  %s %s: %s\n", title, tensor.name, TensorText(tensor).text);
    }
}

}  // namespace

bool parse(int argc, const char* const* argv, Options& options) {
    return Parser(argc, argv, options).parse();
}

void print_help(const Model& model) {
    std::printf("usage: run_export [options]\n"
                "Runs the model '%s', exported for %s. Without options: on the compiled-in sample,\n"
                "printing the first 100 values of every output.\n\n",
                model.name, model.target);
    std::printf("  --input FILE ...  raw tensors in the layout of the ONNX model, one file per input\n"
                "  --output FOLDER   write every output there: output_<i>.bin, raw, in the layout of the ONNX model\n");
    if (model.model_file != nullptr) {
        std::printf("  --model FILE      model of the NPU (default: the one beside this program)\n");
    }
    std::printf("  --warmup N        run N times before measuring\n"
                "  --iterations N    run N times and print the least, median and largest time\n"
                "  --profile         print the time spent in each layer\n"
                "  --json            print what was measured as one JSON object\n"
                "  --help            print this\n\n");
    print_tensors("input ", model.inputs);
    print_tensors("output", model.outputs);
    std::printf("\nExit code: 0 done, 1 the model or writing failed, 2 wrong arguments or input files.\n");
}

}  // namespace export_common
