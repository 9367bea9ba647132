// SPDX-License-Identifier: EPL-2.0
// Max and average pooling against a loop: named windows, then every small one.
#include <cstring>

#include "kernel_check.hpp"
#include "xnnpack/average_pooling.hpp"
#include "xnnpack/max_pooling.hpp"

namespace {

using namespace export_xnnpack;
using kernel_check::infinity;

std::size_t windows(std::size_t size, std::size_t kernel, std::size_t stride, std::size_t dilation, std::size_t pads) {
    const std::size_t reach = (kernel - 1) * dilation + 1;
    return size + pads < reach ? 0 : (size + pads - reach) / stride + 1;
}

struct Case {
    Nhwc input;
    Size2 kernel, stride, dilation;
    Padding padding;
    Activation activation;
    std::size_t input_gap, output_gap;
};

template <class Layer>
bool check(const char* name, const Case& t, bool average) {
    const Nhwc in = t.input;
    const Nhwc out{
        in.batch,
        windows(in.height, t.kernel.height, t.stride.height, t.dilation.height, t.padding.top + t.padding.bottom),
        windows(in.width, t.kernel.width, t.stride.width, t.dilation.width, t.padding.left + t.padding.right),
        in.channels};
    if (out.height == 0 || out.width == 0) {
        return true;
    }
    const auto x = kernel_check::input(in.batch * in.height * in.width, in.channels, in.channels + t.input_gap);
    auto y = kernel_check::output(out.batch * out.height * out.width, in.channels, in.channels + t.output_gap);
    auto want = kernel_check::output(y.count, in.channels, in.channels);
    for (std::size_t p = 0; p < want.count; ++p) {
        const std::size_t n = p / (out.height * out.width);
        const std::size_t oy = p / out.width % out.height;
        const std::size_t ox = p % out.width;
        for (std::size_t c = 0; c < in.channels; ++c) {
            float largest = -infinity;
            double sum = 0;
            std::size_t count = 0;
            for (std::size_t ky = 0; ky < t.kernel.height; ++ky) {
                for (std::size_t kx = 0; kx < t.kernel.width; ++kx) {
                    const std::size_t iy = oy * t.stride.height + ky * t.dilation.height;
                    const std::size_t ix = ox * t.stride.width + kx * t.dilation.width;
                    if (iy < t.padding.top || ix < t.padding.left || iy - t.padding.top >= in.height ||
                        ix - t.padding.left >= in.width) {
                        continue;
                    }
                    const float value = x.at((n * in.height + iy - t.padding.top) * in.width + ix - t.padding.left, c);
                    largest = std::fmax(largest, value);
                    sum += static_cast<double>(value);
                    ++count;
                }
            }
            const float mean = count == 0 ? 0.0F : static_cast<float>(sum / static_cast<double>(count));
            want.at(p, c) = kernel_check::clamped(average ? mean : largest, t.activation.min, t.activation.max);
        }
    }
    Layer layer{
        PoolingConfig{name, in, out, t.kernel, t.stride, t.dilation, t.padding, t.activation, x.stride, y.stride}};
    if (!layer.run(x.data.data(), y.data.data()) || !kernel_check::same(name, y, want)) {
        return false;
    }
    const auto moved = x;
    auto again = kernel_check::output(y.count, in.channels, y.stride);
    return layer.run(moved.data.data(), again.data.data()) && kernel_check::same(name, again, want);
}

bool both(const char* name, const Case& t) {
    const bool maximum = check<MaxPooling>(name, t, false);
    return check<AveragePooling>(name, t, true) && maximum;
}

/// All heights, kernels, strides and pads of a narrow image; the same sideways.
bool all_small_windows() {
    const Activation none{-infinity, infinity};
    for (std::size_t size = 1; size <= 5; ++size) {
        for (std::size_t kernel = 1; kernel <= 5; ++kernel) {
            for (std::size_t stride = 1; stride <= 3; ++stride) {
                for (std::size_t dilation = 1; dilation <= 3; ++dilation) {
                    for (std::size_t pads = 0; pads < 25; ++pads) {
                        const std::size_t before = pads / 5;
                        const std::size_t after = pads % 5;
                        char name[96];
                        std::snprintf(name, sizeof name, "size %zu kernel %zu stride %zu dilation %zu pads %zu %zu",
                                      size, kernel, stride, dilation, before, after);
                        const Case tall{{1, size, 3, 2},       {kernel, 2}, {stride, 1}, {dilation, 1},
                                        {before, 0, after, 1}, none,        0,           0};
                        const Case wide{{1, 3, size, 2},       {2, kernel}, {1, stride}, {1, dilation},
                                        {1, before, 1, after}, none,        0,           0};
                        if (!both(name, tall) || !both(name, wide)) {
                            return false;
                        }
                    }
                }
            }
        }
    }
    return true;
}

constexpr MaxPoolingConfig usual{"usual", {1, 8, 8, 3}, {1, 4, 4, 3},          {3, 3}, {2, 2},
                                 {1, 1},  {1, 1, 1, 1}, {-infinity, infinity}, 3,      3};
static_assert(MaxPooling::served_by_xnnpack(usual) && AveragePooling::served_by_xnnpack(usual));

}  // namespace

int main() {
    const Activation none{-infinity, infinity};
    bool good = start();
    good = both("2x2", {{1, 6, 8, 5}, {2, 2}, {2, 2}, {1, 1}, {0, 0, 0, 0}, none, 0, 0}) && good;
    good = both("3x3 s2", {{2, 7, 9, 19}, {3, 3}, {2, 2}, {1, 1}, {1, 1, 1, 1}, none, 3, 5}) && good;
    good = both("many taps", {{1, 9, 11, 33}, {5, 4}, {2, 3}, {1, 1}, {2, 1, 2, 0}, none, 0, 1}) && good;
    good = both("7x7", {{1, 7, 7, 70}, {7, 7}, {1, 1}, {1, 1}, {0, 0, 0, 0}, none, 0, 0}) && good;
    good = both("clamped", {{1, 6, 6, 16}, {2, 2}, {2, 2}, {1, 1}, {0, 0, 0, 0}, {0.0F, 0.1F}, 0, 0}) && good;
    good = both("one dimension", {{1, 1, 20, 6}, {1, 3}, {1, 2}, {1, 1}, {0, 1, 0, 0}, none, 0, 0}) && good;
    good = both("one element", {{1, 5, 5, 6}, {1, 1}, {2, 2}, {1, 1}, {0, 0, 0, 0}, {-0.5F, 0.5F}, 2, 2}) && good;
    good = both("gaps", {{1, 9, 9, 6}, {2, 2}, {3, 4}, {1, 1}, {0, 0, 0, 0}, none, 0, 0}) && good;
    good = both("dilated", {{1, 9, 9, 6}, {3, 3}, {1, 1}, {2, 2}, {2, 2, 2, 2}, none, 0, 0}) && good;
    good = both("larger than the image", {{1, 3, 3, 4}, {5, 5}, {1, 1}, {1, 1}, {2, 2, 2, 2}, none, 0, 0}) && good;
    return good && all_small_windows() ? 0 : 1;
}
