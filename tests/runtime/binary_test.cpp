// SPDX-License-Identifier: EPL-2.0
// Every function of two values, with broadcasting up to six axes and fused activations, against a loop.
#include "xnnpack/binary.hpp"

#include <algorithm>

#include "kernel_check.hpp"

namespace {

using namespace export_xnnpack;

constexpr Activation none{-kernel_check::infinity, kernel_check::infinity};

struct Function {
    const char* name;
    xnn_binary_operator function;
    float (*reference)(float, float);
    float low;  // inputs are in [low, low + 2)
};

const Function functions[] = {
    {"add", xnn_binary_add, [](float a, float b) { return a + b; }, -1},
    {"subtract", xnn_binary_subtract, [](float a, float b) { return a - b; }, -1},
    {"multiply", xnn_binary_multiply, [](float a, float b) { return a * b; }, -1},
    {"divide", xnn_binary_divide, [](float a, float b) { return a / b; }, 0.5F},
    {"maximum", xnn_binary_maximum, [](float a, float b) { return std::max(a, b); }, -1},
    {"minimum", xnn_binary_minimum, [](float a, float b) { return std::min(a, b); }, -1},
    {"pow", xnn_binary_pow, [](float a, float b) { return std::pow(a, b); }, 0.5F},
    {"prelu", xnn_binary_prelu, [](float a, float b) { return a < 0 ? a * b : a; }, -1},
    {"squared_difference", xnn_binary_squared_difference, [](float a, float b) { return (a - b) * (a - b); }, -1},
};

struct Shapes {
    Dims a, b;
};

const Shapes shapes[] = {
    {{1, 1, 1, 1, 1, 1}, {1, 1, 1, 1, 1, 1}},   {{1, 1, 1, 1, 1, 1003}, {1, 1, 1, 1, 1, 1003}},
    {{1, 1, 2, 3, 5, 7}, {1, 1, 1, 1, 1, 1}},   {{1, 1, 1, 1, 1, 1}, {1, 1, 2, 3, 5, 7}},
    {{1, 1, 2, 3, 5, 37}, {1, 1, 1, 1, 1, 37}}, {{1, 1, 1, 1, 1, 37}, {1, 1, 2, 3, 5, 37}},
    {{1, 1, 2, 3, 5, 37}, {1, 1, 2, 1, 1, 37}}, {{1, 1, 2, 3, 5, 7}, {1, 1, 1, 3, 5, 1}},
    {{1, 1, 1, 1, 1, 33}, {1, 1, 1, 1, 19, 1}}, {{1, 1, 1, 1, 19, 1}, {1, 1, 1, 1, 1, 33}},
    {{2, 1, 3, 1, 2, 1}, {1, 3, 1, 2, 1, 5}},   {{2, 3, 2, 3, 2, 9}, {1, 3, 1, 3, 1, 9}},
    {{2, 3, 2, 3, 2, 9}, {2, 1, 2, 1, 2, 1}},   {{2, 3, 2, 3, 2, 1}, {2, 1, 2, 1, 2, 17}},
};

std::size_t offset(const Dims& position, std::size_t last, const Dims& dims) {
    const Dims strides = dense_strides(dims);
    std::size_t at = dims[max_rank - 1] == 1 ? 0 : last;
    for (std::size_t axis = 0; axis < max_rank - 1; ++axis) {
        at += dims[axis] == 1 ? 0 : position[axis] * strides[axis];
    }
    return at;
}

bool run(const Function& f, const Shapes& s, Activation activation) {
    Dims out{};
    for (std::size_t axis = 0; axis < max_rank; ++axis) {
        out[axis] = std::max(s.a[axis], s.b[axis]);
    }
    const auto count = [](const Dims& dims) { return dense_strides(dims)[0] * dims[0]; };
    const auto values = [&](const Dims& dims, std::uint32_t seed) {
        auto pixels = kernel_check::input(1, count(dims), count(dims), seed);
        for (float& value : pixels.data) {
            value += 1 + f.low;
        }
        return pixels;
    };
    const auto a = values(s.a, 3);
    const auto b = values(s.b, 4);
    auto y = kernel_check::output(1, count(out), count(out));
    auto want = y;
    std::size_t i = 0;
    for_each_row(out, [&](const Dims& position) {
        for (std::size_t last = 0; last < out[max_rank - 1]; ++last) {
            const float value = f.reference(a.data[offset(position, last, s.a)], b.data[offset(position, last, s.b)]);
            want.data[i++] = kernel_check::clamped(value, activation.min, activation.max);
        }
    });
    Binary layer{BinaryConfig{f.name, f.function, s.a, s.b, activation}};
    if (!layer.run(a.data.data(), b.data.data(), y.data.data()) || !kernel_check::same(f.name, y, want)) {
        return false;
    }
    // In place of either input that is as large as the output.
    auto same_a = a;
    if (s.a == out && (!layer.run(same_a.data.data(), b.data.data(), same_a.data.data()) ||
                       !kernel_check::same(f.name, same_a, want))) {
        return false;
    }
    auto same_b = b;
    return s.b != out || (layer.run(a.data.data(), same_b.data.data(), same_b.data.data()) &&
                          kernel_check::same(f.name, same_b, want));
}

}  // namespace

int main() {
    if (!start()) {
        return 1;
    }
    for (const Function& f : functions) {
        for (const Shapes& s : shapes) {
            if (!run(f, s, none) || !run(f, s, {0.0F, kernel_check::infinity}) || !run(f, s, {0.25F, 0.75F}) ||
                !run(f, s, {-kernel_check::infinity, 0.5F})) {
                return 1;
            }
        }
    }
    return 0;
}
