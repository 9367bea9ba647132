// SPDX-License-Identifier: EPL-2.0
// Softmax against double precision: dense, strided, in place.
#include "xnnpack/softmax.hpp"

#include "kernel_check.hpp"

namespace {

using namespace export_xnnpack;

bool run(Rows shape, std::size_t input_gap, std::size_t output_gap, float scale) {
    auto x = kernel_check::input(shape.rows, shape.channels, shape.channels + input_gap);
    for (float& value : x.data) {
        value *= scale;
    }
    auto y = kernel_check::output(shape.rows, shape.channels, shape.channels + output_gap);
    auto want = kernel_check::output(shape.rows, shape.channels, shape.channels);
    for (std::size_t row = 0; row < shape.rows; ++row) {
        double sum = 0;
        for (std::size_t c = 0; c < shape.channels; ++c) {
            sum += std::exp(static_cast<double>(x.at(row, c)));
        }
        for (std::size_t c = 0; c < shape.channels; ++c) {
            want.at(row, c) = static_cast<float>(std::exp(static_cast<double>(x.at(row, c))) / sum);
        }
    }
    Softmax layer{SoftmaxConfig{"softmax", shape, x.stride, y.stride}};
    if (!layer.run(x.data.data(), y.data.data()) || !kernel_check::same("softmax", y, want)) {
        return false;
    }
    Softmax in_place{SoftmaxConfig{"softmax", shape, x.stride, x.stride}};
    if (!in_place.run(x.data.data(), x.data.data())) {
        return false;
    }
    for (std::size_t row = 0; row < shape.rows; ++row) {
        for (std::size_t c = 0; c < shape.channels; ++c) {
            if (!(std::fabs(x.at(row, c) - want.at(row, c)) < 1e-6F)) {
                std::printf("in place: row %zu channel %zu is %g\n", row, c, static_cast<double>(x.at(row, c)));
                return false;
            }
        }
    }
    return true;
}

}  // namespace

int main() {
    const bool ok = start() && run({1, 1}, 0, 0, 1) && run({1, 1000}, 0, 0, 20) && run({7, 5}, 0, 0, 1) &&
                    run({9, 37}, 3, 0, 30) && run({9, 37}, 0, 5, 3) && run({5, 131}, 2, 1, 80);
    return ok ? 0 : 1;
}
