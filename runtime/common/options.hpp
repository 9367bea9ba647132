// SPDX-License-Identifier: EPL-2.0
// The program's command line.
#pragma once

#include <cstddef>
#include <vector>

#include "common/model.hpp"

namespace export_common {

struct Options {
    std::vector<const char*> inputs;  ///< files; empty: the compiled-in sample
    const char* output = nullptr;     ///< folder
    const char* model = nullptr;      ///< model file of the NPU; nullptr: the one beside the program
    std::size_t warmup = 0;
    std::size_t iterations = 0;  ///< 0: not asked for, one run
    bool profile = false;
    bool json = false;
    bool help = false;
};

/// Reads the command line. Complains and returns false when it is wrong.
bool parse(int argc, const char* const* argv, Options& options);

void print_help(const Model& model);

}  // namespace export_common
