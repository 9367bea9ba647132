// SPDX-License-Identifier: EPL-2.0
// Slices with any starts and steps, against a loop.
#include "xnnpack/slice.hpp"

#include "kernel_check.hpp"

namespace {

using namespace export_xnnpack;

using Steps = std::array<std::ptrdiff_t, max_rank>;

bool run(const Dims& input, const Dims& starts, const Dims& sizes, const Steps& steps) {
    const std::size_t count = dense_strides(input)[0] * input[0];
    const std::size_t results = dense_strides(sizes)[0] * sizes[0];
    const auto x = kernel_check::input(1, count, count);
    auto want = kernel_check::output(1, results, results);
    auto y = want;
    for (std::size_t i = 0; i < results; ++i) {
        std::size_t from = 0;
        std::size_t rest = i;
        for (std::size_t axis = max_rank; axis-- > 0; rest /= sizes[axis]) {
            const auto position = static_cast<std::ptrdiff_t>(rest % sizes[axis]);
            const auto at = static_cast<std::ptrdiff_t>(starts[axis]) + position * steps[axis];
            from += static_cast<std::size_t>(at) * dense_strides(input)[axis];
        }
        want.data[i] = x.data[from];
    }
    Slice layer{SliceConfig{"slice", input, starts, sizes, steps}};
    return layer.run(x.data.data(), y.data.data()) && kernel_check::same("slice", y, want);
}

}  // namespace

int main() {
    constexpr Steps ones{1, 1, 1, 1, 1, 1};
    const bool ok = start() && run({1, 1, 1, 1, 1, 37}, {0, 0, 0, 0, 0, 0}, {1, 1, 1, 1, 1, 37}, ones) &&
                    run({1, 1, 1, 1, 1, 37}, {0, 0, 0, 0, 0, 36}, {1, 1, 1, 1, 1, 1}, ones) &&
                    run({1, 1, 2, 7, 5, 9}, {0, 0, 1, 2, 1, 3}, {1, 1, 1, 4, 3, 5}, ones) &&
                    run({2, 3, 4, 3, 5, 9}, {1, 1, 2, 1, 1, 2}, {1, 2, 2, 1, 3, 7}, ones) &&
                    run({2, 3, 4, 3, 5, 9}, {0, 1, 0, 1, 0, 2}, {2, 2, 4, 1, 5, 3}, ones) &&
                    run({1, 1, 2, 7, 5, 9}, {0, 0, 0, 1, 0, 0}, {1, 1, 2, 3, 5, 9}, {1, 1, 1, 2, 1, 1}) &&
                    run({1, 1, 2, 7, 5, 9}, {0, 0, 1, 6, 4, 8}, {1, 1, 2, 7, 5, 9}, {1, 1, -1, -1, -1, -1}) &&
                    run({1, 1, 2, 7, 5, 9}, {0, 0, 0, 0, 0, 1}, {1, 1, 2, 7, 5, 3}, {1, 1, 1, 1, 1, 3}) &&
                    run({2, 3, 4, 3, 5, 9}, {1, 2, 0, 2, 4, 8}, {2, 2, 2, 2, 2, 3}, {-1, -2, 3, -2, -4, -4});
    return ok ? 0 : 1;
}
