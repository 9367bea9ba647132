// SPDX-License-Identifier: EPL-2.0
// 2-D convolution: plain, strided, dilated, grouped and depthwise, with a fused activation.
#pragma once

#include <cstdint>

#include "xnnpack/operator.hpp"

namespace export_xnnpack {

struct ConvolutionConfig {
    const char* layer;
    Nhwc input;
    Nhwc output;
    Size2 kernel;
    Size2 stride;
    Size2 dilation;
    Padding padding;
    std::size_t groups;
    Activation activation;
    const float* weights;         ///< [output channels][kernel height][kernel width][input channels / groups]
    const float* bias;            ///< [output channels], or nullptr
    std::size_t packed_channels;  ///< output channels in weights and bias: more than output.channels when padded
    std::size_t input_stride;     ///< elements from one input pixel to the next
    std::size_t output_stride;    ///< elements from one output pixel to the next, at least packed_channels
};

class Convolution : Operator {
public:
    explicit constexpr Convolution(const ConvolutionConfig& config)
        : Operator(config.layer, "convolution"), config_(config) {}

    /// Packs the weights and fixes the shape. Does nothing when done already.
    bool init() {
        if (ready_) {
            return true;
        }
        const ConvolutionConfig& c = config_;
        const std::size_t group_inputs = c.input.channels / c.groups;
        const std::size_t group_outputs = c.packed_channels / c.groups;
        if (!check(xnn_create_convolution2d_nhwc_f32(
                       u32(c.padding.top), u32(c.padding.right), u32(c.padding.bottom), u32(c.padding.left),
                       u32(c.kernel.height), u32(c.kernel.width), u32(c.stride.height), u32(c.stride.width),
                       u32(c.dilation.height), u32(c.dilation.width), u32(c.groups), group_inputs, group_outputs,
                       c.input_stride, c.output_stride, c.weights, c.bias, c.activation.min, c.activation.max,
                       /*flags=*/0, AIDGE_XNN_CODE_CACHE /*weights_cache=*/nullptr, &op_),
                   "create", {c.packed_channels, c.kernel.height, c.kernel.width, group_inputs})) {
            return false;
        }
        release_pages(c.weights, c.packed_channels * c.kernel.height * c.kernel.width * group_inputs * sizeof(float));
        std::size_t bytes = 0;
        [[maybe_unused]] std::size_t alignment = 0;
        std::size_t height = 0;
        std::size_t width = 0;
        if (!check(xnn_reshape_convolution2d_nhwc_f32(op_, c.input.batch, c.input.height, c.input.width, &bytes,
                                                      AIDGE_XNN_WORKSPACE_ALIGNMENT(&alignment) & height, &width,
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
        if (input == input_ && output == output_) {
            return true;
        }
        input_ = input;
        output_ = output;
        return check(xnn_setup_convolution2d_nhwc_f32(op_, workspace_, input, output), "setup",
                     {config_.input.batch, config_.input.height, config_.input.width, config_.input.channels});
    }

    bool run(const float* input, float* output) {
        return bind(input, output) &&
               run_bound({config_.input.batch, config_.input.height, config_.input.width, config_.input.channels});
    }

private:
    static constexpr std::uint32_t u32(std::size_t value) { return static_cast<std::uint32_t>(value); }

    ConvolutionConfig config_;
    const float* input_ = nullptr;
    float* output_ = nullptr;
};

}  // namespace export_xnnpack
