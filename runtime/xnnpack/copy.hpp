// SPDX-License-Identifier: EPL-2.0
// Copies of rows: copy, concatenation, split. What the planner has put in its place already is not copied.
#pragma once

#include <array>
#include <cstddef>
#include <cstring>
#include <utility>

#include "xnnpack/operator.hpp"

namespace export_xnnpack {

struct CopyConfig {
    const char* layer;
    Rows shape;
    std::size_t input_stride;   ///< elements from one input row to the next
    std::size_t output_stride;  ///< elements from one output row to the next
};

/// Copies rows; free when source and destination are the same place.
class Copy : Operator {
public:
    explicit constexpr Copy(const CopyConfig& config, const char* type = "copy")
        : Operator(config.layer, type), config_(config) {}

    /// Creates the operator, unless the plan is that source and destination are the same place.
    bool init() {
        const bool planned =
            config_.input_stride == config_.output_stride && config_.input_stride > config_.shape.channels;
        return planned || narrow() || create();
    }

    /// Sets the pointers that the next run uses. Costs nothing when they are the same as before.
    bool bind(const float* input, float* output) {
        if (input == input_ && output == output_) {
            return true;
        }
        input_ = input;
        output_ = output;
        in_place_ = input == output && (config_.input_stride == config_.output_stride || config_.shape.rows == 1);
        return in_place_ || narrow() ||
               (create() && check(xnn_setup_copy_nc_x32(op_, input, output), "setup",
                                  {config_.shape.rows, config_.shape.channels}));
    }

    bool run(const float* input, float* output) {
        if (!bind(input, output)) {
            return false;
        }
        if (in_place_) {
            return true;
        }
        if (narrow()) {
            run_loop(input, output);
            return true;
        }
        return run_bound({config_.shape.rows, config_.shape.channels});
    }

    constexpr Rows shape() const { return config_.shape; }

private:
    /// Rows so short that XNNPACK's call for each of them would cost more than copying it.
    constexpr bool narrow() const {
        constexpr std::size_t limit = 32;
        const CopyConfig& c = config_;
        const bool gaps = c.input_stride > c.shape.channels || c.output_stride > c.shape.channels;
        return gaps && c.shape.rows > 1 && c.shape.channels <= limit;
    }

    void run_loop(const float* input, float* output) const {
        const CopyConfig& c = config_;
        constexpr std::size_t block = 4;
        for (std::size_t row = 0; row < c.shape.rows; ++row, input += c.input_stride, output += c.output_stride) {
            std::size_t i = 0;
            for (; i + block <= c.shape.channels; i += block) {
                std::memcpy(output + i, input + i, block * sizeof(float));
            }
            for (; i < c.shape.channels; ++i) {
                output[i] = input[i];
            }
        }
    }

    bool create() {
        const CopyConfig& c = config_;
        if (!ready_) {
            ready_ = check(xnn_create_copy_nc_x32(/*flags=*/0, &op_), "create", {c.shape.rows, c.shape.channels}) &&
                     check(xnn_reshape_copy_nc_x32(op_, c.shape.rows, c.shape.channels, c.input_stride, c.output_stride,
                                                   /*threadpool=*/nullptr),
                           "reshape", {c.shape.rows, c.shape.channels});
        }
        return ready_;
    }

    CopyConfig config_;
    const float* input_ = nullptr;
    float* output_ = nullptr;
    bool in_place_ = false;
};

/// Copies between one tensor and N tensors whose rows it has side by side.
template <std::size_t N>
class Copies {
public:
    bool init() {
        bool ok = true;
        for (Copy& part : parts_) {
            ok = ok && part.init();
        }
        return ok;
    }

protected:
    constexpr Copies(const char* type, const std::array<CopyConfig, N>& parts)
        : Copies(type, parts, std::make_index_sequence<N>()) {}

    /// Where each part starts in the one tensor.
    template <typename Value>
    std::array<Value*, N> places(Value* tensor) const {
        std::array<Value*, N> result{};
        for (std::size_t i = 0; i < N; ++i) {
            result[i] = tensor;
            tensor += parts_[i].shape().channels;
        }
        return result;
    }

    bool bind_parts(const std::array<const float*, N>& from, const std::array<float*, N>& to) {
        bool ok = true;
        for (std::size_t i = 0; i < N; ++i) {
            ok = ok && parts_[i].bind(from[i], to[i]);
        }
        return ok;
    }

    bool run_parts(const std::array<const float*, N>& from, const std::array<float*, N>& to) {
        bool ok = true;
        for (std::size_t i = 0; i < N; ++i) {
            ok = ok && parts_[i].run(from[i], to[i]);
        }
        return ok;
    }

private:
    template <std::size_t... I>
    constexpr Copies(const char* type, const std::array<CopyConfig, N>& parts, std::index_sequence<I...>)
        : parts_{Copy(parts[I], type)...} {}

    Copy parts_[N];
};

template <std::size_t N>
struct ConcatConfig {
    const char* layer;
    std::size_t outer;                         ///< rows
    std::array<std::size_t, N> inners;         ///< elements that each input has in a row
    std::array<std::size_t, N> input_strides;  ///< elements from one row of an input to the next
    std::size_t output_stride;                 ///< elements from one output row to the next
};

template <std::size_t N>
ConcatConfig(const char*, std::size_t, std::array<std::size_t, N>, std::array<std::size_t, N>, std::size_t)
    -> ConcatConfig<N>;

/// An output row is the inputs' rows one after another.
template <std::size_t N>
class Concat : public Copies<N> {
public:
    explicit constexpr Concat(const ConcatConfig<N>& config) : Copies<N>("concat", parts(config)) {}

    bool bind(const std::array<const float*, N>& inputs, float* output) {
        return this->bind_parts(inputs, this->places(output));
    }

    bool run(const std::array<const float*, N>& inputs, float* output) {
        return this->run_parts(inputs, this->places(output));
    }

private:
    static constexpr std::array<CopyConfig, N> parts(const ConcatConfig<N>& config) {
        std::array<CopyConfig, N> result{};
        for (std::size_t i = 0; i < N; ++i) {
            result[i] = {config.layer, {config.outer, config.inners[i]}, config.input_strides[i], config.output_stride};
        }
        return result;
    }
};

template <std::size_t N>
struct SplitConfig {
    const char* layer;
    std::size_t outer;                          ///< rows
    std::array<std::size_t, N> inners;          ///< elements that each output has in a row
    std::size_t input_stride;                   ///< elements from one input row to the next
    std::array<std::size_t, N> output_strides;  ///< elements from one row of an output to the next
};

template <std::size_t N>
SplitConfig(const char*, std::size_t, std::array<std::size_t, N>, std::size_t, std::array<std::size_t, N>)
    -> SplitConfig<N>;

/// An input row is the outputs' rows one after another.
template <std::size_t N>
class Split : public Copies<N> {
public:
    explicit constexpr Split(const SplitConfig<N>& config) : Copies<N>("split", parts(config)) {}

    bool bind(const float* input, const std::array<float*, N>& outputs) {
        return this->bind_parts(this->places(input), outputs);
    }

    bool run(const float* input, const std::array<float*, N>& outputs) {
        return this->run_parts(this->places(input), outputs);
    }

private:
    static constexpr std::array<CopyConfig, N> parts(const SplitConfig<N>& config) {
        std::array<CopyConfig, N> result{};
        for (std::size_t i = 0; i < N; ++i) {
            result[i] = {config.layer, {config.outer, config.inners[i]}, config.input_stride, config.output_strides[i]};
        }
        return result;
    }
};

}  // namespace export_xnnpack
