// SPDX-License-Identifier: EPL-2.0
// What the program prints: values as Aidge's own main does, tables for people, JSON for programs.
#pragma once

#include <cstddef>
#include <vector>

#include "common/model.hpp"

namespace export_common {

/// Milliseconds.
struct Summary {
    double min = 0.0;
    double median = 0.0;
    double max = 0.0;
};

struct Measurement {
    double init_ms = 0.0;
    std::size_t warmup = 0;
    std::size_t iterations = 0;
    Summary run;
    bool profiled = false;
};

/// Least, median and largest of at least one time. Sorts them.
Summary summarize(std::vector<double>& milliseconds);

/// The first 100 values of every output, in the device's layout: Aidge's protocol aidge-stdout/v1.
void print_values(const Model& model, const std::vector<const void*>& outputs);

void print_times(const Measurement& measurement);
void print_layers(const Model& model, const Measurement& measurement);
void print_json(const Model& model, const Measurement& measurement);

}  // namespace export_common
