// SPDX-License-Identifier: EPL-2.0
// Every function of one value against double precision: dense, strided, in place.
#include "xnnpack/unary.hpp"

#include <algorithm>

#include "kernel_check.hpp"

namespace {

using namespace export_xnnpack;

constexpr Activation relu6{0.0F, 6.0F};
constexpr float alpha = 0.3F;

struct Case {
    const char* name;
    UnaryFunction function;
    double (*reference)(double);
    float low, high;  // inputs
};

double normal_distribution(double x) {
    return 0.5 * std::erfc(-x / std::sqrt(2.0));
}

constexpr double root_2_over_pi = 0.79788456080286535588;

const Case cases[] = {
    {"abs", UnaryFunction::abs, [](double x) { return std::fabs(x); }, -5, 5},
    {"approxgelu", UnaryFunction::approxgelu,
     [](double x) { return 0.5 * x * (1 + std::tanh(root_2_over_pi * (x + 0.044715 * x * x * x))); }, -9, 9},
    {"bankers_rounding", UnaryFunction::bankers_rounding, [](double x) { return std::nearbyint(x); }, -5, 5},
    {"ceiling", UnaryFunction::ceiling, [](double x) { return std::ceil(x); }, -5, 5},
    {"clamp", UnaryFunction::clamp, [](double x) { return std::clamp(x, 0.0, 6.0); }, -9, 9},
    {"elu", UnaryFunction::elu, [](double x) { return x > 0 ? x : static_cast<double>(alpha) * std::expm1(x); }, -9, 9},
    {"erf", UnaryFunction::erf, [](double x) { return std::erf(x); }, -4, 4},
    {"exp", UnaryFunction::exp, [](double x) { return std::exp(x); }, -85, 88},
    {"floor", UnaryFunction::floor, [](double x) { return std::floor(x); }, -5, 5},
    {"gelu", UnaryFunction::gelu, [](double x) { return x * normal_distribution(x); }, -9, 9},
    {"hardswish", UnaryFunction::hardswish, [](double x) { return x * std::clamp(x + 3, 0.0, 6.0) / 6; }, -5, 5},
    {"leaky_relu", UnaryFunction::leaky_relu, [](double x) { return x < 0 ? x * static_cast<double>(alpha) : x; }, -5,
     5},
    {"log", UnaryFunction::log, [](double x) { return std::log(x); }, 0.01F, 99},
    {"negate", UnaryFunction::negate, [](double x) { return -x; }, -5, 5},
    {"reciprocal_square_root", UnaryFunction::reciprocal_square_root, [](double x) { return 1 / std::sqrt(x); }, 0.01F,
     99},
    {"sigmoid", UnaryFunction::sigmoid, [](double x) { return 1 / (1 + std::exp(-x)); }, -30, 30},
    {"softplus", UnaryFunction::softplus,
     [](double x) { return std::fmax(x, 0.0) + std::log1p(std::exp(-std::fabs(x))); }, -99, 99},
    {"square", UnaryFunction::square, [](double x) { return x * x; }, -5, 5},
    {"square_root", UnaryFunction::square_root, [](double x) { return std::sqrt(x); }, 0, 99},
    {"tanh", UnaryFunction::tanh, [](double x) { return std::tanh(x); }, -9, 9},
};

bool close(const Case& t, const kernel_check::Pixels& x, const kernel_check::Pixels& y) {
    for (std::size_t row = 0; row < y.count; ++row) {
        for (std::size_t c = 0; c < y.stride; ++c) {
            const double got = static_cast<double>(y.at(row, c));
            if (c >= y.channels) {
                if (y.at(row, c) != kernel_check::untouched && !std::isnan(got)) {
                    std::printf("%s: row %zu was written past its end\n", t.name, row);
                    return false;
                }
                continue;
            }
            const double want = t.reference(static_cast<double>(x.at(row, c)));
            if (!(std::fabs(got - want) <= 1e-6 * std::fmax(1, std::fabs(want)))) {
                std::printf("%s(%g) is %g, not %g\n", t.name, static_cast<double>(x.at(row, c)), got, want);
                return false;
            }
        }
    }
    return true;
}

bool run(const Case& t, Rows shape, std::size_t input_gap, std::size_t output_gap) {
    auto x = kernel_check::input(shape.rows, shape.channels, shape.channels + input_gap);
    for (float& value : x.data) {
        value = t.low + (value + 1) / 2 * (t.high - t.low);
    }
    auto y = kernel_check::output(shape.rows, shape.channels, shape.channels + output_gap);
    Unary layer{UnaryConfig{t.name, t.function, shape, relu6, alpha, x.stride, y.stride}};
    if (!layer.run(x.data.data(), y.data.data()) || !close(t, x, y)) {
        return false;
    }
    auto same = x;
    Unary in_place{UnaryConfig{t.name, t.function, shape, relu6, alpha, x.stride, x.stride}};
    return in_place.run(same.data.data(), same.data.data()) && close(t, x, same);
}

bool one(UnaryFunction function, float x, float want) {
    float y = kernel_check::untouched;
    Unary layer{UnaryConfig{"one", function, {1, 1}, relu6, alpha, 1, 1}};
    const bool ok = layer.run(&x, &y) && (y == want || (std::isnan(y) && std::isnan(want)) ||
                                          std::fabs(y - want) <= 1e-7F * std::fabs(want));
    if (!ok) {
        std::printf("function %d of %g is %g, not %g\n", static_cast<int>(function), static_cast<double>(x),
                    static_cast<double>(y), static_cast<double>(want));
    }
    return ok;
}

/// The functions that this project computes itself have to be right at the ends, too.
bool ends() {
    constexpr float infinity = kernel_check::infinity;
    const float nan = std::nanf("");
    return one(UnaryFunction::exp, infinity, infinity) && one(UnaryFunction::exp, -infinity, 0) &&
           one(UnaryFunction::exp, nan, nan) && one(UnaryFunction::exp, 0, 1) &&
           one(UnaryFunction::exp, -100, 3.783506e-44F) && one(UnaryFunction::exp, 88.5F, 2.7230878e38F) &&
           one(UnaryFunction::log, infinity, infinity) && one(UnaryFunction::log, 0, -infinity) &&
           one(UnaryFunction::log, -1, nan) && one(UnaryFunction::log, nan, nan) && one(UnaryFunction::log, 1, 0) &&
           one(UnaryFunction::log, 1e-40F, -92.10341F) && one(UnaryFunction::softplus, -80, 1.8048513e-35F) &&
           one(UnaryFunction::softplus, infinity, infinity) && one(UnaryFunction::softplus, -infinity, 0) &&
           one(UnaryFunction::softplus, nan, nan);
}

}  // namespace

int main() {
    if (!start()) {
        return 1;
    }
    for (const Case& t : cases) {
        if (!run(t, {1, 1}, 0, 0) || !run(t, {1, 1003}, 0, 0) || !run(t, {7, 5}, 0, 0) || !run(t, {13, 37}, 3, 0) ||
            !run(t, {13, 37}, 0, 11) || !run(t, {5, 131}, 2, 1)) {
            return 1;
        }
    }
    return ends() ? 0 : 1;
}
