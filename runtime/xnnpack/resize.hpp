// SPDX-License-Identifier: EPL-2.0
// Changes height and width of images: bilinear by XNNPACK, nearest neighbour by tables of source rows and columns.
#pragma once

#include <cstdint>
#include <cstring>

#include "xnnpack/operator.hpp"

namespace export_xnnpack {

/// Which point of the input an output pixel stands for.
enum class Coordinates {
    half_pixel,     ///< centres of pixels map to centres of pixels
    align_corners,  ///< corner pixels map to corner pixels
    asymmetric,     ///< upper left corners of pixels map to each other
};

struct BilinearResizeConfig {
    const char* layer;
    Nhwc input;
    Nhwc output;
    Coordinates coordinates;
    std::size_t input_stride;   ///< elements from one input pixel to the next
    std::size_t output_stride;  ///< elements from one output pixel to the next
};

class BilinearResize : Operator {
public:
    explicit constexpr BilinearResize(const BilinearResizeConfig& config)
        : Operator(config.layer, "bilinear resize"), config_(config) {}

    /// Fixes the shape. Does nothing when done already.
    bool init() {
        if (ready_) {
            return true;
        }
        const BilinearResizeConfig& c = config_;
        if (!check(AIDGE_XNN_BILINEAR(create)(AIDGE_XNN_BILINEAR_DATATYPE c.output.height, c.output.width,
                                              flags(c.coordinates), &op_),
                   "create", {c.output.height, c.output.width})) {
            return false;
        }
        std::size_t bytes = 0;
        [[maybe_unused]] std::size_t alignment = 0;
        if (!check(AIDGE_XNN_BILINEAR(reshape)(op_, c.input.batch, c.input.height, c.input.width, c.input.channels,
                                               c.input_stride, c.output_stride, &bytes,
                                               AIDGE_XNN_WORKSPACE_ALIGNMENT(&alignment) /*threadpool=*/nullptr),
                   "reshape", {c.input.batch, c.input.height, c.input.width, c.input.channels})) {
            return false;
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
        return check(AIDGE_XNN_BILINEAR(setup)(op_, workspace_, input, output), "setup",
                     {config_.input.batch, config_.input.height, config_.input.width, config_.input.channels});
    }

    bool run(const float* input, float* output) {
        return bind(input, output) &&
               run_bound({config_.input.batch, config_.input.height, config_.input.width, config_.input.channels});
    }

private:
    static constexpr std::uint32_t flags(Coordinates coordinates) {
        switch (coordinates) {
            case Coordinates::align_corners: return XNN_FLAG_ALIGN_CORNERS;
            case Coordinates::asymmetric: return XNN_FLAG_TENSORFLOW_LEGACY_MODE;
            default: return 0;
        }
    }

    BilinearResizeConfig config_;
    const float* input_ = nullptr;
    float* output_ = nullptr;
};

struct NearestResizeConfig {
    const char* layer;
    Nhwc input;
    Nhwc output;
    const std::uint32_t* rows;     ///< input row of every output row
    const std::uint32_t* columns;  ///< input column of every output column
    std::size_t input_stride;      ///< elements from one input pixel to the next
    std::size_t output_stride;     ///< elements from one output pixel to the next
};

/// Copies pixels; has nothing to prepare and cannot fail.
class NearestResize {
public:
    explicit constexpr NearestResize(const NearestResizeConfig& config) : config_(config) {}

    bool init() { return true; }
    bool bind(const float* /*input*/, float* /*output*/) { return true; }

    bool run(const float* input, float* output) {
        const NearestResizeConfig& c = config_;
        const std::size_t image = c.input.height * c.input.width * c.input_stride;
        const std::size_t row = c.output.width * c.output_stride;
        for (std::size_t n = 0; n < c.input.batch; ++n, input += image) {
            for (std::size_t oy = 0; oy < c.output.height; ++oy, output += row) {
                // Between strided pixels lies what belongs to others: only dense rows can be repeated as a whole.
                if (oy > 0 && c.rows[oy] == c.rows[oy - 1] && c.output_stride == c.output.channels) {
                    std::memcpy(output, output - row, row * sizeof(float));
                } else {
                    copy_pixels(input + c.rows[oy] * c.input.width * c.input_stride, output);
                }
            }
        }
        return true;
    }

private:
    void copy_pixels(const float* from, float* to) const {
        const NearestResizeConfig& c = config_;
        for (std::size_t ox = 0; ox < c.output.width; ++ox, to += c.output_stride) {
            std::memcpy(to, from + c.columns[ox] * c.input_stride, c.output.channels * sizeof(float));
        }
    }

    NearestResizeConfig config_;
};

}  // namespace export_xnnpack
