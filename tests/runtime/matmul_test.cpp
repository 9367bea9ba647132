// SPDX-License-Identifier: EPL-2.0
// Batches of matrix products against a loop.
#include "xnnpack/matmul.hpp"

#include <cstring>

#include "kernel_check.hpp"

namespace {

using namespace export_xnnpack;

struct Case {
    const char* name;
    std::vector<std::size_t> batch_a, batch_b;
    std::size_t rows, depth, columns;
};

std::size_t product(const std::vector<std::size_t>& dims) {
    std::size_t size = 1;
    for (const std::size_t dim : dims) {
        size *= dim;
    }
    return size;
}

/// Which matrix of a side takes part in the result's matrix number `index`.
std::size_t source(std::size_t index, const std::vector<std::size_t>& all, const std::vector<std::size_t>& side) {
    std::size_t result = 0;
    std::size_t scale = 1;
    for (std::size_t i = all.size(); i-- > 0;) {
        result += index % all[i] % side[i] * scale;
        scale *= side[i];
        index /= all[i];
    }
    return result;
}

bool check(const Case& t, bool transposed, bool constant) {
    std::vector<std::size_t> batch;
    for (std::size_t i = 0; i < t.batch_a.size(); ++i) {
        batch.push_back(t.batch_a[i] > t.batch_b[i] ? t.batch_a[i] : t.batch_b[i]);
    }
    const auto a = kernel_check::input(1, product(t.batch_a) * t.rows * t.depth, product(t.batch_a) * t.rows * t.depth);
    const auto b =
        kernel_check::input(1, product(t.batch_b) * t.depth * t.columns, product(t.batch_b) * t.depth * t.columns, 7);
    const std::size_t size = product(batch) * t.rows * t.columns;
    auto y = kernel_check::output(1, size, size);
    auto want = y;
    for (std::size_t i = 0; i < product(batch); ++i) {
        const float* const left = a.data.data() + source(i, batch, t.batch_a) * t.rows * t.depth;
        const float* const right = b.data.data() + source(i, batch, t.batch_b) * t.depth * t.columns;
        for (std::size_t m = 0; m < t.rows; ++m) {
            for (std::size_t n = 0; n < t.columns; ++n) {
                double sum = 0;
                for (std::size_t k = 0; k < t.depth; ++k) {
                    sum += static_cast<double>(left[m * t.depth + k]) *
                           static_cast<double>(transposed ? right[n * t.depth + k] : right[k * t.columns + n]);
                }
                want.data[(i * t.rows + m) * t.columns + n] = static_cast<float>(sum);
            }
        }
    }
    MatMulConfig config{
        t.name, t.batch_a.size(), {}, {}, t.rows, t.depth, t.columns, transposed, constant ? b.data.data() : nullptr};
    for (std::size_t i = 0; i < t.batch_a.size(); ++i) {
        config.batch_a[i] = t.batch_a[i];
        config.batch_b[i] = t.batch_b[i];
    }
    MatMul layer{config};
    const auto run = [&](const float* left, const float* right, float* out) {
        return constant ? layer.run(left, out) : layer.run(left, right, out);
    };
    if (!run(a.data.data(), b.data.data(), y.data.data()) || !kernel_check::same(t.name, y, want)) {
        return false;
    }
    const auto moved_a = a;
    const auto moved_b = b;
    auto again = kernel_check::output(1, size, size);
    return run(moved_a.data.data(), moved_b.data.data(), again.data.data()) && kernel_check::same(t.name, again, want);
}

bool reports_failure() {
    float value[4] = {};
    MatMul layer{MatMulConfig{"scores", 1, {2}, {3}, 1, 1, 1, false, nullptr}};
    return !layer.run(value, value, value) && std::strstr(last_error, "'scores': matrix product: reshape") != nullptr;
}

}  // namespace

int main() {
    const Case cases[] = {
        {"plain", {}, {}, 5, 7, 19},
        {"one row", {}, {}, 1, 33, 5},
        {"one value", {1}, {1}, 1, 1, 1},
        {"batch", {3}, {3}, 9, 4, 17},
        {"left repeats", {1, 2}, {3, 2}, 2, 5, 33},
        {"right repeats", {3, 2}, {3, 1}, 8, 6, 3},
        {"both repeat", {2, 1, 3}, {1, 4, 3}, 3, 9, 7},
        {"six axes", {2, 1, 2, 1, 2, 1}, {1, 2, 1, 2, 1, 2}, 2, 3, 4},
        {"attention", {1, 4}, {1, 4}, 16, 8, 16},
    };
    bool good = start();
    for (const Case& t : cases) {
        for (const bool transposed : {false, true}) {
            for (const bool constant : {false, true}) {
                good = check(t, transposed, constant) && good;
            }
        }
    }
    return good && reports_failure() ? 0 : 1;
}
