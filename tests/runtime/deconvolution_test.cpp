// SPDX-License-Identifier: EPL-2.0
// Transposed convolution against a loop that scatters.
#include "xnnpack/deconvolution.hpp"

#include <cstring>

#include "kernel_check.hpp"

namespace {

using namespace export_xnnpack;
using kernel_check::infinity;

struct Case {
    const char* name;
    Nhwc input;
    std::size_t outputs;
    Size2 kernel, stride, dilation;
    Padding padding;
    Size2 adjustment;
    std::size_t groups;
    Activation activation;
    bool bias;
    std::size_t packed;
    std::size_t input_gap, output_gap;
};

bool check(const Case& t) {
    const Nhwc in = t.input;
    const auto size = [](std::size_t n, std::size_t k, std::size_t s, std::size_t d, std::size_t pads,
                         std::size_t extra) { return (n - 1) * s + extra + (k - 1) * d + 1 - pads; };
    const Nhwc out{in.batch,
                   size(in.height, t.kernel.height, t.stride.height, t.dilation.height,
                        t.padding.top + t.padding.bottom, t.adjustment.height),
                   size(in.width, t.kernel.width, t.stride.width, t.dilation.width, t.padding.left + t.padding.right,
                        t.adjustment.width),
                   t.outputs};
    const std::size_t inputs = in.channels / t.groups;
    const std::size_t taps = t.kernel.height * t.kernel.width;
    std::vector<float> weights = kernel_check::values(t.packed * taps * inputs, 3);
    std::vector<float> bias = kernel_check::values(t.packed, 4);
    const auto x = kernel_check::input(in.batch * in.height * in.width, in.channels, in.channels + t.input_gap);
    auto y = kernel_check::output(out.batch * out.height * out.width, t.outputs, t.packed + t.output_gap);
    auto want = kernel_check::output(y.count, t.outputs, t.outputs);
    const std::size_t group_outputs = t.outputs / t.groups;
    for (std::size_t n = 0; n < in.batch; ++n) {
        for (std::size_t oy = 0; oy < out.height; ++oy) {
            for (std::size_t ox = 0; ox < out.width; ++ox) {
                for (std::size_t k = 0; k < t.outputs; ++k) {
                    double sum = t.bias ? static_cast<double>(bias[k]) : 0.0;
                    for (std::size_t ky = 0; ky < t.kernel.height; ++ky) {
                        for (std::size_t kx = 0; kx < t.kernel.width; ++kx) {
                            const std::size_t sy = oy + t.padding.top - ky * t.dilation.height;
                            const std::size_t sx = ox + t.padding.left - kx * t.dilation.width;
                            if (oy + t.padding.top < ky * t.dilation.height || sy % t.stride.height != 0 ||
                                sy / t.stride.height >= in.height || ox + t.padding.left < kx * t.dilation.width ||
                                sx % t.stride.width != 0 || sx / t.stride.width >= in.width) {
                                continue;
                            }
                            const std::size_t pixel =
                                (n * in.height + sy / t.stride.height) * in.width + sx / t.stride.width;
                            for (std::size_t c = 0; c < inputs; ++c) {
                                sum += static_cast<double>(x.at(pixel, k / group_outputs * inputs + c)) *
                                       static_cast<double>(
                                           weights[((k * t.kernel.height + ky) * t.kernel.width + kx) * inputs + c]);
                            }
                        }
                    }
                    want.at((n * out.height + oy) * out.width + ox, k) =
                        kernel_check::clamped(static_cast<float>(sum), t.activation.min, t.activation.max);
                }
            }
        }
    }
    Deconvolution layer{DeconvolutionConfig{t.name, in, out, t.kernel, t.stride, t.dilation, t.padding, t.groups,
                                            t.activation, weights.data(), t.bias ? bias.data() : nullptr, t.packed,
                                            x.stride, y.stride, t.adjustment}};
    if (!layer.run(x.data.data(), y.data.data()) || !kernel_check::same(t.name, y, want, t.packed)) {
        return false;
    }
    // Other pointers, without a new init.
    const auto moved = x;
    auto again = kernel_check::output(y.count, t.outputs, y.stride);
    return layer.run(moved.data.data(), again.data.data()) && kernel_check::same(t.name, again, want, t.packed);
}

bool reports_failure() {
    const std::vector<float> weights = kernel_check::values(4, 3);
    std::vector<float> pixel(64);
    Deconvolution layer{DeconvolutionConfig{"up \"1\"",
                                            {1, 2, 2, 2},
                                            {1, 4, 4, 2},
                                            {1, 1},
                                            {1, 1},
                                            {1, 1},
                                            {0, 0, 0, 0},
                                            1,
                                            {-infinity, infinity},
                                            weights.data(),
                                            nullptr,
                                            2,
                                            2,
                                            2,
                                            {0, 0}}};
    return !layer.run(pixel.data(), pixel.data()) && std::strstr(last_error, "up \"1\"") != nullptr &&
           std::strstr(last_error, "2x2") != nullptr;
}

}  // namespace

int main() {
    const Activation none{-infinity, infinity};
    const Case cases[] = {
        {"plain", {1, 5, 7, 3}, 5, {3, 3}, {1, 1}, {1, 1}, {0, 0, 0, 0}, {0, 0}, 1, none, true, 5, 0, 0},
        {"kernel is stride", {2, 3, 5, 17}, 19, {2, 2}, {2, 2}, {1, 1}, {0, 0, 0, 0}, {0, 0}, 1, none, true, 19, 0, 0},
        {"strided", {1, 5, 4, 7}, 21, {3, 4}, {2, 2}, {1, 1}, {1, 0, 1, 2}, {1, 0}, 1, none, true, 21, 3, 5},
        {"stride over kernel", {1, 4, 3, 5}, 16, {2, 1}, {3, 2}, {1, 1}, {0, 0, 0, 0}, {2, 1}, 1, none, true, 16, 0, 0},
        {"dilated", {1, 6, 5, 4}, 18, {3, 3}, {1, 1}, {2, 3}, {1, 2, 0, 1}, {0, 0}, 1, none, false, 18, 1, 0},
        {"dilated, strided", {1, 4, 5, 4}, 18, {3, 2}, {2, 3}, {2, 2}, {1, 1, 1, 1}, {1, 2}, 1, none, true, 18, 0, 2},
        {"grouped", {1, 4, 5, 12}, 9, {3, 3}, {2, 1}, {1, 1}, {1, 1, 1, 1}, {0, 0}, 3, none, true, 9, 2, 1},
        {"depthwise", {1, 4, 5, 6}, 6, {4, 4}, {2, 2}, {1, 1}, {1, 1, 1, 1}, {0, 0}, 6, none, true, 6, 0, 0},
        {"clamped", {1, 4, 4, 8}, 16, {3, 3}, {2, 2}, {1, 1}, {1, 1, 1, 1}, {1, 1}, 1, {0.0F, 0.5F}, true, 16, 0, 0},
        {"padded channels", {1, 4, 4, 8}, 3, {2, 2}, {2, 2}, {1, 1}, {0, 0, 0, 0}, {0, 0}, 1, none, true, 16, 0, 4},
        {"cropped to less than the stride",
         {1, 1, 1, 8},
         16,
         {4, 4},
         {1, 1},
         {1, 1},
         {1, 1, 2, 1},
         {0, 0},
         1,
         none,
         true,
         16,
         0,
         0},
        {"one dimension", {1, 1, 9, 4}, 20, {1, 4}, {1, 2}, {1, 1}, {0, 1, 0, 1}, {0, 0}, 1, none, true, 20, 0, 0},
    };
    bool good = start();
    for (const Case& t : cases) {
        good = check(t) && good;
    }
    return good && reports_failure() ? 0 : 1;
}
