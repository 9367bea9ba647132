// SPDX-License-Identifier: EPL-2.0
// Reductions over every choice of axes, against a loop.
#include "xnnpack/reduce.hpp"

#include <algorithm>

#include "kernel_check.hpp"

namespace {

using namespace export_xnnpack;

bool run(ReduceFunction function, const Dims& dims, unsigned mask) {
    std::array<bool, max_rank> reduced{};
    Dims kept = dims;
    std::size_t terms = 1;
    for (std::size_t axis = 0; axis < max_rank; ++axis) {
        reduced[axis] = (mask >> axis & 1U) != 0;
        if (reduced[axis]) {
            terms *= dims[axis];
            kept[axis] = 1;
        }
    }
    const std::size_t count = dense_strides(dims)[0] * dims[0];
    const std::size_t results = dense_strides(kept)[0] * kept[0];
    auto x = kernel_check::input(1, count, count, mask + 1);
    // A maximum of negative values and a minimum of positive ones show whether padding or an initial 0 takes part.
    for (float& value : x.data) {
        value += function == ReduceFunction::min ? 1.5F : -1.5F;
    }
    std::vector<double> sums(results, 0.0);
    std::vector<float> extremes(results,
                                function == ReduceFunction::max ? -kernel_check::infinity : kernel_check::infinity);
    std::size_t i = 0;
    for_each_row(dims, [&](const Dims& position) {
        for (std::size_t last = 0; last < dims[max_rank - 1]; ++last, ++i) {
            std::size_t to = reduced[max_rank - 1] ? 0 : last;
            for (std::size_t axis = 0; axis < max_rank - 1; ++axis) {
                to += reduced[axis] ? 0 : position[axis] * dense_strides(kept)[axis];
            }
            sums[to] += static_cast<double>(x.data[i]);
            extremes[to] =
                function == ReduceFunction::max ? std::max(extremes[to], x.data[i]) : std::min(extremes[to], x.data[i]);
        }
    });
    auto want = kernel_check::output(1, results, results);
    for (std::size_t r = 0; r < results; ++r) {
        const double mean = sums[r] / static_cast<double>(terms);
        const bool extreme = function == ReduceFunction::max || function == ReduceFunction::min;
        want.data[r] = extreme ? extremes[r] : static_cast<float>(function == ReduceFunction::sum ? sums[r] : mean);
    }
    auto y = kernel_check::output(1, results, results);
    Reduce layer{ReduceConfig{"reduce", function, dims, reduced}};
    // Twice: sums must not be added to what the output holds.
    const bool ok = layer.run(x.data.data(), y.data.data()) && layer.run(x.data.data(), y.data.data()) &&
                    kernel_check::same("reduce", y, want);
    if (!ok) {
        std::printf("function %d, mask %u, innermost %zu\n", static_cast<int>(function), mask, dims[max_rank - 1]);
    }
    return ok;
}

}  // namespace

int main() {
    if (!start()) {
        return 1;
    }
    for (const ReduceFunction function :
         {ReduceFunction::max, ReduceFunction::mean, ReduceFunction::min, ReduceFunction::sum}) {
        for (unsigned mask = 1; mask < 64; ++mask) {
            if (!run(function, {2, 3, 2, 3, 2, 37}, mask) || !run(function, {3, 2, 1, 5, 1, 1}, mask)) {
                return 1;
            }
        }
        // Global pooling of odd maps, and long sums.
        if (!run(function, {1, 1, 2, 7, 9, 131}, 0b011000) || !run(function, {1, 1, 1, 1, 1, 1}, 1) ||
            !run(function, {1, 1, 1, 1, 3, 10007}, 0b100000) || !run(function, {1, 1, 1, 10007, 1, 3}, 0b001000)) {
            return 1;
        }
    }
    return 0;
}
