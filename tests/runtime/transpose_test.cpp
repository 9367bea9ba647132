// SPDX-License-Identifier: EPL-2.0
// All 720 orders of six axes, and the usual changes of layout.
#include "xnnpack/transpose.hpp"

#include <algorithm>

#include "kernel_check.hpp"

namespace {

using namespace export_xnnpack;

bool run(const Dims& input, const Dims& permutation) {
    const std::size_t count = dense_strides(input)[0] * input[0];
    const auto x = kernel_check::input(1, count, count);
    auto want = kernel_check::output(1, count, count);
    auto y = want;
    for (std::size_t i = 0; i < count; ++i) {
        std::size_t from = 0;
        std::size_t rest = i;
        for (std::size_t axis = max_rank; axis-- > 0;) {
            const std::size_t source = permutation[axis];
            from += rest % input[source] * dense_strides(input)[source];
            rest /= input[source];
        }
        want.data[i] = x.data[from];
    }
    Transpose layer{TransposeConfig{"transpose", input, permutation}};
    return layer.run(x.data.data(), y.data.data()) && kernel_check::same("transpose", y, want);
}

}  // namespace

int main() {
    bool ok = start();
    Dims permutation{0, 1, 2, 3, 4, 5};
    do {
        ok = ok && run({2, 3, 4, 5, 2, 3}, permutation);
    } while (std::next_permutation(permutation.begin(), permutation.end()));
    ok = ok && run({1, 1, 1, 1, 1, 37}, {0, 1, 2, 3, 4, 5}) && run({1, 1, 1, 1, 17, 37}, {0, 1, 2, 3, 5, 4}) &&
         run({1, 1, 1, 2, 33, 65}, {0, 1, 2, 3, 5, 4}) && run({1, 1, 1, 2, 65, 3}, {0, 1, 2, 3, 5, 4}) &&
         run({1, 1, 3, 19, 7, 5}, {0, 1, 2, 4, 3, 5}) && run({1, 1, 1, 1, 1, 1}, {5, 4, 3, 2, 1, 0});
    return ok ? 0 : 1;
}
