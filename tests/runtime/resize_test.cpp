// SPDX-License-Identifier: EPL-2.0
// Bilinear and nearest resizing against a loop.
#include "xnnpack/resize.hpp"

#include <algorithm>

#include "kernel_check.hpp"

namespace {

using namespace export_xnnpack;

struct Case {
    Nhwc input;
    Size2 size;
    std::size_t input_gap, output_gap;
};

struct Point {
    std::size_t first, second;
    double share;  // of the second
};

Point source(std::size_t o, std::size_t in, std::size_t out, Coordinates coordinates) {
    double position = 0;
    const double scale = static_cast<double>(in) / static_cast<double>(out);
    switch (coordinates) {
        case Coordinates::half_pixel: position = (static_cast<double>(o) + 0.5) * scale - 0.5; break;
        case Coordinates::asymmetric: position = static_cast<double>(o) * scale; break;
        case Coordinates::align_corners:
            position = out == 1 ? 0.0 : static_cast<double>(o * (in - 1)) / static_cast<double>(out - 1);
            break;
    }
    position = std::clamp(position, 0.0, static_cast<double>(in - 1));
    const auto first = static_cast<std::size_t>(position);
    return {first, std::min(first + 1, in - 1), position - static_cast<double>(first)};
}

bool bilinear(const Case& t, Coordinates coordinates) {
    const Nhwc in = t.input;
    const Nhwc out{in.batch, t.size.height, t.size.width, in.channels};
    const auto x = kernel_check::input(in.batch * in.height * in.width, in.channels, in.channels + t.input_gap);
    auto y = kernel_check::output(out.batch * out.height * out.width, in.channels, in.channels + t.output_gap);
    auto want = kernel_check::output(y.count, in.channels, in.channels);
    for (std::size_t p = 0; p < want.count; ++p) {
        const Point v = source(p / out.width % out.height, in.height, out.height, coordinates);
        const Point h = source(p % out.width, in.width, out.width, coordinates);
        const std::size_t base = p / (out.width * out.height) * in.height;
        for (std::size_t c = 0; c < in.channels; ++c) {
            const auto value = [&](std::size_t row, std::size_t column) {
                return static_cast<double>(x.at((base + row) * in.width + column, c));
            };
            const double top = value(v.first, h.first) * (1 - h.share) + value(v.first, h.second) * h.share;
            const double bottom = value(v.second, h.first) * (1 - h.share) + value(v.second, h.second) * h.share;
            want.at(p, c) = static_cast<float>(top * (1 - v.share) + bottom * v.share);
        }
    }
    BilinearResize layer{BilinearResizeConfig{"bilinear", in, out, coordinates, x.stride, y.stride}};
    if (!layer.run(x.data.data(), y.data.data()) || !kernel_check::same("bilinear", y, want)) {
        return false;
    }
    const auto moved = x;
    auto again = kernel_check::output(y.count, in.channels, y.stride);
    return layer.run(moved.data.data(), again.data.data()) && kernel_check::same("bilinear", again, want);
}

bool nearest(const Case& t) {
    const Nhwc in = t.input;
    const Nhwc out{in.batch, t.size.height, t.size.width, in.channels};
    std::vector<std::uint32_t> rows(out.height);
    std::vector<std::uint32_t> columns(out.width);
    for (std::size_t i = 0; i < out.height; ++i) {
        rows[i] = static_cast<std::uint32_t>(i * in.height / out.height);
    }
    for (std::size_t i = 0; i < out.width; ++i) {
        columns[i] = static_cast<std::uint32_t>(i * in.width / out.width);
    }
    const auto x = kernel_check::input(in.batch * in.height * in.width, in.channels, in.channels + t.input_gap);
    auto y = kernel_check::output(out.batch * out.height * out.width, in.channels, in.channels + t.output_gap);
    auto want = kernel_check::output(y.count, in.channels, in.channels);
    for (std::size_t p = 0; p < want.count; ++p) {
        const std::size_t row = p / (out.width * out.height) * in.height + rows[p / out.width % out.height];
        for (std::size_t c = 0; c < in.channels; ++c) {
            want.at(p, c) = x.at(row * in.width + columns[p % out.width], c);
        }
    }
    NearestResize layer{NearestResizeConfig{"nearest", in, out, rows.data(), columns.data(), x.stride, y.stride}};
    return layer.run(x.data.data(), y.data.data()) && kernel_check::same("nearest", y, want);
}

}  // namespace

int main() {
    const Case cases[] = {
        {{1, 5, 7, 3}, {10, 14}, 0, 0}, {{2, 4, 6, 19}, {7, 13}, 2, 3}, {{1, 9, 8, 5}, {4, 3}, 0, 1},
        {{1, 1, 1, 6}, {3, 5}, 0, 0},   {{1, 6, 5, 16}, {1, 1}, 1, 0},  {{1, 4, 4, 33}, {4, 9}, 0, 0},
    };
    bool good = start();
    for (const Case& t : cases) {
        for (const Coordinates c : {Coordinates::half_pixel, Coordinates::align_corners, Coordinates::asymmetric}) {
            good = bilinear(t, c) && good;
        }
        good = nearest(t) && good;
    }
    return good ? 0 : 1;
}
