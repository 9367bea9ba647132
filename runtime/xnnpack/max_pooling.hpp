// SPDX-License-Identifier: EPL-2.0
// 2-D max pooling: strided, dilated, padded, with a fused activation.
#pragma once

#include <limits>

#include "xnnpack/pooling.hpp"

namespace export_xnnpack {

using MaxPoolingConfig = PoolingConfig;

class MaxPooling : Operator {
public:
    explicit constexpr MaxPooling(const MaxPoolingConfig& config)
        : Operator(config.layer, "max pooling"), config_(config) {}

    /// Fixes the shape. Does nothing when done already.
    bool init() {
        if (ready_) {
            return true;
        }
        const MaxPoolingConfig& c = config_;
        if (!served_by_xnnpack(c)) {
            ready_ = true;
            return true;
        }
        if (!check(xnn_create_max_pooling2d_nhwc_f32(
                       pooling::u32(c.padding.top), pooling::u32(c.padding.right), pooling::u32(c.padding.bottom),
                       pooling::u32(c.padding.left), pooling::u32(c.kernel.height), pooling::u32(c.kernel.width),
                       pooling::u32(c.stride.height), pooling::u32(c.stride.width), pooling::u32(c.dilation.height),
                       pooling::u32(c.dilation.width), c.activation.min, c.activation.max, /*flags=*/0, &op_),
                   "create", {c.kernel.height, c.kernel.width})) {
            return false;
        }
        std::size_t height = 0;
        std::size_t width = 0;
        if (!check(xnn_reshape_max_pooling2d_nhwc_f32(op_, c.input.batch, c.input.height, c.input.width,
                                                      c.input.channels, c.input_stride, c.output_stride, &height,
                                                      &width, /*threadpool=*/nullptr),
                   "reshape", {c.input.batch, c.input.height, c.input.width, c.input.channels})) {
            return false;
        }
        if (height != c.output.height || width != c.output.width) {
            return fail(layer_, type_, "output size check", xnn_status_invalid_parameter, {height, width});
        }
        ready_ = true;
        return true;
    }

    /// Sets the pointers that the next run uses. Costs nothing when they are the same as before.
    bool bind(const float* input, float* output) {
        if (!init()) {
            return false;
        }
        if (op_ == nullptr || (input == input_ && output == output_)) {
            return true;
        }
        input_ = input;
        output_ = output;
        return check(xnn_setup_max_pooling2d_nhwc_f32(op_, input, output), "setup",
                     {config_.input.batch, config_.input.height, config_.input.width, config_.input.channels});
    }

    bool run(const float* input, float* output) {
        if (!bind(input, output)) {
            return false;
        }
        if (op_ == nullptr) {
            pooling::slide(config_, input, output, Maximum{config_.activation});
            return true;
        }
        return run_bound({config_.input.batch, config_.input.height, config_.input.width, config_.input.channels});
    }

    /// Whether XNNPACK, in all supported versions, takes the window and gets it right.
    static constexpr bool served_by_xnnpack(const MaxPoolingConfig& c) {
        const bool dilated = c.dilation.height > 1 || c.dilation.width > 1;
        // The version of 2024 refuses windows of one element and gaps between windows.
        return c.kernel.height * c.kernel.width > 1 && c.stride.height <= c.kernel.height &&
               c.stride.width <= c.kernel.width && replaces_padding(pooling::vertical(c), dilated) &&
               replaces_padding(pooling::horizontal(c), dilated);
    }

private:
    struct Maximum {
        Activation bounds;

        void first(float* out, const float* pixel, std::size_t channels) const { std::copy_n(pixel, channels, out); }
        void next(float* out, const float* pixel, std::size_t channels) const {
            for (std::size_t i = 0; i < channels; ++i) {
                out[i] = std::max(out[i], pixel[i]);
            }
        }
        void last(float* out, std::size_t count, std::size_t channels) const {
            for (std::size_t i = 0; i < channels; ++i) {
                out[i] = pooling::clamp(count == 0 ? -std::numeric_limits<float>::infinity() : out[i], bounds);
            }
        }
    };

    /// XNNPACK reads another pixel of the window in place of padding: whether there always is one. With dilation the
    /// version of 2024 takes the tap that a window at the image's corner has there, which need not be in the image.
    static constexpr bool replaces_padding(const pooling::Axis& axis, bool dilated) {
        for (std::size_t o = 0; o < axis.output; ++o) {
            const std::size_t taps = axis.taps_inside(o);
            const std::size_t corner = axis.before / axis.dilation;
            const std::size_t tap = o * axis.stride < axis.before % axis.dilation ? corner + 1 : corner;
            if (taps == 0 || (dilated && taps < axis.kernel && !(tap < axis.kernel && axis.inside(o, tap)))) {
                return false;
            }
        }
        return true;
    }

    MaxPoolingConfig config_;
    const float* input_ = nullptr;
    float* output_ = nullptr;
};

}  // namespace export_xnnpack
