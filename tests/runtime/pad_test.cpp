// SPDX-License-Identifier: EPL-2.0
// Padding in all modes, against a loop.
#include "xnnpack/pad.hpp"

#include <algorithm>

#include "kernel_check.hpp"

namespace {

using namespace export_xnnpack;

bool run(PadMode mode, const Dims& input, const Dims& before, const Dims& after) {
    constexpr float value = -2.5F;
    Dims padded{};
    for (std::size_t axis = 0; axis < max_rank; ++axis) {
        padded[axis] = before[axis] + input[axis] + after[axis];
    }
    const std::size_t count = dense_strides(input)[0] * input[0];
    const std::size_t results = dense_strides(padded)[0] * padded[0];
    const auto x = kernel_check::input(1, count, count);
    auto want = kernel_check::output(1, results, results);
    auto y = want;
    for (std::size_t i = 0; i < results; ++i) {
        std::ptrdiff_t from = 0;
        bool inside = true;
        std::size_t rest = i;
        for (std::size_t axis = max_rank; axis-- > 0; rest /= padded[axis]) {
            auto at = static_cast<std::ptrdiff_t>(rest % padded[axis]) - static_cast<std::ptrdiff_t>(before[axis]);
            const auto last = static_cast<std::ptrdiff_t>(input[axis]) - 1;
            inside = inside && at >= 0 && at <= last;
            if (mode == PadMode::reflect) {
                at = at < 0 ? -at : at > last ? 2 * last - at : at;
            }
            at = std::clamp<std::ptrdiff_t>(at, 0, last);
            from += at * static_cast<std::ptrdiff_t>(dense_strides(input)[axis]);
        }
        want.data[i] = mode == PadMode::constant && !inside ? value : x.data[static_cast<std::size_t>(from)];
    }
    Pad layer{PadConfig{"pad", mode, value, input, before, after}};
    return layer.run(x.data.data(), y.data.data()) && kernel_check::same("pad", y, want);
}

}  // namespace

int main() {
    bool ok = start();
    for (const PadMode mode : {PadMode::constant, PadMode::edge, PadMode::reflect}) {
        ok = ok && run(mode, {1, 1, 1, 1, 1, 37}, {0, 0, 0, 0, 0, 0}, {0, 0, 0, 0, 0, 0}) &&
             run(mode, {1, 1, 1, 1, 1, 37}, {0, 0, 0, 0, 0, 3}, {0, 0, 0, 0, 0, 36}) &&
             run(mode, {1, 1, 2, 7, 5, 9}, {0, 0, 0, 1, 1, 0}, {0, 0, 0, 1, 1, 0}) &&
             run(mode, {1, 1, 2, 7, 5, 9}, {0, 0, 0, 3, 0, 1}, {0, 0, 1, 0, 2, 0}) &&
             run(mode, {2, 3, 2, 3, 2, 4}, {1, 2, 0, 1, 1, 2}, {0, 1, 1, 2, 1, 3});
    }
    // Only repeating the edge can make more than there is; only a constant can surround a single value.
    ok = ok && run(PadMode::edge, {1, 1, 1, 1, 1, 2}, {0, 0, 0, 0, 0, 5}, {0, 0, 0, 0, 0, 7}) &&
         run(PadMode::constant, {1, 1, 1, 1, 1, 1}, {0, 0, 1, 0, 0, 5}, {0, 1, 0, 0, 0, 7});
    return ok ? 0 : 1;
}
