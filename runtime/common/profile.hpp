// SPDX-License-Identifier: EPL-2.0
// Time spent in each layer. A forward function times a layer with
//     const export_common::LayerTimer timer(profile, 3);
// which is one test of a flag while profiling is off.
#pragma once

#include <cstddef>
#include <cstdint>

#include "common/clock.hpp"

namespace export_common {

struct LayerProfile {
    const char* name;     ///< in the ONNX model
    const char* type;     ///< operators it serves, e.g. "Conv+Relu"
    const char* library;  ///< what runs it, e.g. "export_xnnpack"
    std::uint64_t nanoseconds;
    std::uint64_t calls;
};

/// The layers of a model and whether they are being timed. It does not own the table.
class Profile {
public:
    constexpr Profile(LayerProfile* layers, std::size_t count) : layers_(layers), count_(count) {}

    /// Starts from zero, or stops and keeps what was measured.
    void enable(bool on) {
        on_ = on;
        for (std::size_t i = 0; on && i < count_; ++i) {
            layers_[i].nanoseconds = 0;
            layers_[i].calls = 0;
        }
    }

    /// Where to add the time of a layer; nullptr while profiling is off.
    LayerProfile* slot(std::size_t layer) const { return on_ ? &layers_[layer] : nullptr; }

    const LayerProfile* layers() const { return layers_; }
    std::size_t count() const { return count_; }

private:
    LayerProfile* layers_;
    std::size_t count_;
    bool on_ = false;
};

/// Times one layer, from construction to destruction.
class LayerTimer {
public:
    LayerTimer(const Profile& profile, std::size_t layer)
        : slot_(profile.slot(layer)), start_(slot_ != nullptr ? nanoseconds() : 0) {}
    ~LayerTimer() {
        if (slot_ != nullptr) {
            slot_->nanoseconds += nanoseconds() - start_;
            ++slot_->calls;
        }
    }
    LayerTimer(const LayerTimer&) = delete;
    LayerTimer& operator=(const LayerTimer&) = delete;

private:
    LayerProfile* slot_;
    std::uint64_t start_;
};

}  // namespace export_common
