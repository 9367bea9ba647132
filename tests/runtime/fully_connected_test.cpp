// SPDX-License-Identifier: EPL-2.0
// Fully connected layers against a loop.
#include "xnnpack/fully_connected.hpp"

#include <cstring>

#include "kernel_check.hpp"

namespace {

using namespace export_xnnpack;
using kernel_check::infinity;

struct Case {
    const char* name;
    std::size_t rows, inputs, outputs;
    bool bias;
    Activation activation;
    std::size_t packed;
    std::size_t input_gap, output_gap;
};

bool check(const Case& t) {
    const std::vector<float> weights = kernel_check::values(t.packed * t.inputs, 3);
    const std::vector<float> bias = kernel_check::values(t.packed, 4);
    const auto x = kernel_check::input(t.rows, t.inputs, t.inputs + t.input_gap);
    auto y = kernel_check::output(t.rows, t.outputs, t.packed + t.output_gap);
    auto want = kernel_check::output(t.rows, t.outputs, t.outputs);
    for (std::size_t m = 0; m < t.rows; ++m) {
        for (std::size_t n = 0; n < t.outputs; ++n) {
            double sum = t.bias ? static_cast<double>(bias[n]) : 0.0;
            for (std::size_t k = 0; k < t.inputs; ++k) {
                sum += static_cast<double>(x.at(m, k)) * static_cast<double>(weights[n * t.inputs + k]);
            }
            want.at(m, n) = kernel_check::clamped(static_cast<float>(sum), t.activation.min, t.activation.max);
        }
    }
    FullyConnected layer{FullyConnectedConfig{t.name,
                                              {t.rows, t.inputs},
                                              {t.rows, t.outputs},
                                              t.activation,
                                              weights.data(),
                                              t.bias ? bias.data() : nullptr,
                                              t.packed,
                                              x.stride,
                                              y.stride}};
    if (!layer.run(x.data.data(), y.data.data()) || !kernel_check::same(t.name, y, want, t.packed)) {
        return false;
    }
    const auto moved = x;
    auto again = kernel_check::output(t.rows, t.outputs, y.stride);
    return layer.run(moved.data.data(), again.data.data()) && kernel_check::same(t.name, again, want, t.packed);
}

bool reports_failure() {
    const std::vector<float> weights = kernel_check::values(4, 3);
    float pixel[4] = {};
    FullyConnected layer{FullyConnectedConfig{"head", {1, 2}, {1, 2}, {1.0F, -1.0F}, weights.data(), nullptr, 2, 2, 2}};
    return !layer.run(pixel, pixel) && std::strstr(last_error, "'head': fully connected: create failed") != nullptr;
}

}  // namespace

int main() {
    const Activation none{-infinity, infinity};
    const Case cases[] = {
        {"one row", 1, 37, 10, true, none, 10, 0, 0},
        {"one row, padded", 1, 37, 10, true, none, 16, 0, 0},
        {"wide, padded", 1, 64, 84, true, none, 96, 0, 0},
        {"rows", 9, 33, 17, true, none, 17, 3, 6},
        {"rows, padded", 5, 12, 3, false, {0.0F, infinity}, 16, 0, 2},
        {"clamped", 3, 21, 40, true, {-0.5F, 0.5F}, 40, 1, 0},
        {"one value", 1, 1, 1, false, none, 1, 0, 0},
    };
    bool good = start();
    for (const Case& t : cases) {
        good = check(t) && good;
    }
    return good && reports_failure() ? 0 : 1;
}
