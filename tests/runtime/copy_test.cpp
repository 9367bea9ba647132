// SPDX-License-Identifier: EPL-2.0
// Copies, concatenations and splits: dense, strided, and with parts that are in their place already.
#include "xnnpack/copy.hpp"

#include "kernel_check.hpp"

namespace {

using namespace export_xnnpack;

bool copy(Rows shape, std::size_t input_gap, std::size_t output_gap) {
    const auto x = kernel_check::input(shape.rows, shape.channels, shape.channels + input_gap);
    auto y = kernel_check::output(shape.rows, shape.channels, shape.channels + output_gap);
    Copy layer{CopyConfig{"copy", shape, x.stride, y.stride}};
    return layer.init() && layer.run(x.data.data(), y.data.data()) && kernel_check::same("copy", y, x);
}

/// Three inputs side by side; the second one is computed in its place when `in_place`.
bool concat(std::size_t outer, bool in_place) {
    constexpr std::array<std::size_t, 3> inners{3, 1, 17};
    constexpr std::size_t total = 21;
    constexpr std::size_t gap = 2;
    const auto a = kernel_check::input(outer, inners[0], inners[0], 1);
    const auto b = kernel_check::input(outer, inners[1], inners[1] + gap, 2);
    const auto c = kernel_check::input(outer, inners[2], inners[2], 3);
    auto y = kernel_check::output(outer, total, total + gap);
    auto want = kernel_check::output(outer, total, total);
    for (std::size_t row = 0; row < outer; ++row) {
        for (std::size_t i = 0; i < total; ++i) {
            want.at(row, i) = i < 3 ? a.at(row, i) : i < 4 ? b.at(row, 0) : c.at(row, i - 4);
        }
        if (in_place) {
            y.at(row, 3) = b.at(row, 0);
        }
    }
    Concat<3> layer{
        ConcatConfig<3>{"concat", outer, inners, {a.stride, in_place ? y.stride : b.stride, c.stride}, y.stride}};
    const float* second = in_place ? y.data.data() + 3 : b.data.data();
    return layer.init() && layer.bind({a.data.data(), second, c.data.data()}, y.data.data()) &&
           layer.run({a.data.data(), second, c.data.data()}, y.data.data()) && kernel_check::same("concat", y, want);
}

bool split(std::size_t outer, bool in_place) {
    constexpr std::size_t gap = 3;
    auto x = kernel_check::input(outer, 9, 9 + gap);
    auto first = kernel_check::output(outer, 5, 5 + gap);
    auto second = kernel_check::output(outer, 4, 4);
    Split<2> layer{
        SplitConfig<2>{"split", outer, {5, 4}, x.stride, {in_place ? x.stride : first.stride, second.stride}}};
    if (!layer.init() ||
        !layer.run(x.data.data(), {in_place ? x.data.data() : first.data.data(), second.data.data()})) {
        return false;
    }
    auto want_first = kernel_check::output(outer, 5, 5);
    auto want_second = kernel_check::output(outer, 4, 4);
    for (std::size_t row = 0; row < outer; ++row) {
        for (std::size_t i = 0; i < 9; ++i) {
            (i < 5 ? want_first.at(row, i) : want_second.at(row, i - 5)) = x.at(row, i);
        }
    }
    return (in_place || kernel_check::same("first part", first, want_first)) &&
           kernel_check::same("second part", second, want_second);
}

/// Before XNNPACK is started no operator can be created: what is in its place must not need one.
bool nothing_to_do() {
    std::vector<float> rows(48, 1.0F);
    Concat<2> concat{ConcatConfig<2>{"concat", 6, {3, 5}, {8, 8}, 8}};
    Split<2> split{SplitConfig<2>{"split", 1, {3, 5}, 8, {3, 5}}};
    Copy copy{CopyConfig{"copy", {6, 8}, 8, 8}};
    float* x = rows.data();
    return concat.init() && concat.bind({x, x + 3}, x) && concat.run({x, x + 3}, x) && split.bind(x, {x, x + 3}) &&
           split.run(x, {x, x + 3}) && copy.bind(x, x) && copy.run(x, x);
}

}  // namespace

int main() {
    const bool ok = nothing_to_do() && start() && copy({1, 1003}, 0, 0) && copy({7, 5}, 0, 0) && copy({7, 5}, 3, 0) &&
                    copy({7, 5}, 0, 2) && copy({7, 5}, 4, 4) && concat(1, false) && concat(11, false) &&
                    concat(1, true) && concat(11, true) && split(1, false) && split(11, false) && split(1, true) &&
                    split(11, true);
    return ok ? 0 : 1;
}
