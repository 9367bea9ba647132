// SPDX-License-Identifier: EPL-2.0
// 2-D average pooling: strided, padded, with a fused activation. Padding does not count.
#pragma once

#include "xnnpack/pooling.hpp"

namespace export_xnnpack {

using AveragePoolingConfig = PoolingConfig;

class AveragePooling : Operator {
public:
    explicit constexpr AveragePooling(const AveragePoolingConfig& config)
        : Operator(config.layer, "average pooling"), config_(config) {}

    /// Fixes the shape. Does nothing when done already.
    bool init() {
        if (ready_) {
            return true;
        }
        const AveragePoolingConfig& c = config_;
        if (!served_by_xnnpack(c)) {
            ready_ = true;
            return true;
        }
        if (!check(xnn_create_average_pooling2d_nhwc_f32(
                       pooling::u32(c.padding.top), pooling::u32(c.padding.right), pooling::u32(c.padding.bottom),
                       pooling::u32(c.padding.left), pooling::u32(c.kernel.height), pooling::u32(c.kernel.width),
                       pooling::u32(c.stride.height), pooling::u32(c.stride.width), c.activation.min, c.activation.max,
                       /*flags=*/0, &op_),
                   "create", {c.kernel.height, c.kernel.width})) {
            return false;
        }
        std::size_t bytes = 0;
        [[maybe_unused]] std::size_t alignment = 0;
        std::size_t height = 0;
        std::size_t width = 0;
        if (!check(xnn_reshape_average_pooling2d_nhwc_f32(
                       op_, c.input.batch, c.input.height, c.input.width, c.input.channels, c.input_stride,
                       c.output_stride AIDGE_XNN_AVGPOOL_WORKSPACE_SIZE(&bytes, &alignment), &height, &width,
                       /*threadpool=*/nullptr),
                   "reshape", {c.input.batch, c.input.height, c.input.width, c.input.channels})) {
            return false;
        }
        if (height != c.output.height || width != c.output.width) {
            return fail(layer_, type_, "output size check", xnn_status_invalid_parameter, {height, width});
        }
        ready_ = allocate_workspace(bytes);
        return ready_;
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
        return check(xnn_setup_average_pooling2d_nhwc_f32(op_, AIDGE_XNN_AVGPOOL_WORKSPACE(workspace_) input, output),
                     "setup", {config_.input.batch, config_.input.height, config_.input.width, config_.input.channels});
    }

    bool run(const float* input, float* output) {
        if (!bind(input, output)) {
            return false;
        }
        if (op_ == nullptr) {
            pooling::slide(config_, input, output, Average{config_.activation});
            return true;
        }
        return run_bound({config_.input.batch, config_.input.height, config_.input.width, config_.input.channels});
    }

    /// Whether XNNPACK takes the window and gets it right.
    static constexpr bool served_by_xnnpack(const AveragePoolingConfig& c) {
        const std::size_t top_rows = (c.padding.top + c.stride.height - 1) / c.stride.height;
        const std::size_t bottom_rows = (c.padding.bottom + c.stride.height - 1) / c.stride.height;
        // Its table of output rows mixes them up when the same row touches the padding above and below.
        const bool rows_apart = bottom_rows == 0 || top_rows + bottom_rows <= c.output.height;
        return c.dilation.height == 1 && c.dilation.width == 1 && rows_apart &&
               pooling::touches_image(pooling::vertical(c)) && pooling::touches_image(pooling::horizontal(c));
    }

private:
    struct Average {
        Activation bounds;

        void first(float* out, const float* pixel, std::size_t channels) const { std::copy_n(pixel, channels, out); }
        void next(float* out, const float* pixel, std::size_t channels) const {
            for (std::size_t i = 0; i < channels; ++i) {
                out[i] += pixel[i];
            }
        }
        void last(float* out, std::size_t count, std::size_t channels) const {
            for (std::size_t i = 0; i < channels; ++i) {
                out[i] = pooling::clamp(count == 0 ? 0.0F : out[i] / static_cast<float>(count), bounds);
            }
        }
    };

    AveragePoolingConfig config_;
    const float* input_ = nullptr;
    float* output_ = nullptr;
};

}  // namespace export_xnnpack
