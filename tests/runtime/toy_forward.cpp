// SPDX-License-Identifier: EPL-2.0
// A model without XNNPACK: scaled = image * scale for each channel (channels last), ramp = 0.5, 1.5, ... 119.5.
// The environment variable TOY_FAULT makes it misbehave: "init", "forward", "nan", "crash" or "hang".
#include "toy_forward.hpp"

#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <cstring>
#include <limits>

#include "common/cpu.hpp"

namespace {

constexpr std::size_t pixels = 6;
constexpr std::size_t channels = 2;
constexpr std::size_t steps = 120;

alignas(64) float arena[pixels * channels + steps];

export_common::LayerProfile layers[] = {
    {"scale_1", "Mul", "export_xnnpack", 0, 0},
    {"ramp \"1\"", "Range+Add", "export_cpp", 0, 0},
};
export_common::Profile profile(layers, 2);

const char* last_error = "";

bool fault(const char* name) {
    const char* const wanted = std::getenv("TOY_FAULT");
    return wanted != nullptr && std::strcmp(wanted, name) == 0;
}

}  // namespace

int toy_init(void) {
    if (const char* const message = export_common::missing_cpu_feature()) {
        last_error = message;
        return 1;
    }
    if (fault("init")) {
        last_error = "layer 'scale_1': multiply: create failed: out of memory (dims 1x2x3x2)";
        return 1;
    }
    return 0;
}

const char* toy_error(void) {
    return last_error;
}

void toy_forward(const float* image, const float* scale, float** scaled, float** ramp) {
    *scaled = nullptr;
    *ramp = nullptr;
    if (toy_init() != 0) {
        return;
    }
    if (fault("forward")) {
        last_error = "layer 'ramp': run failed: invalid state (dims 120)";
        return;
    }
    if (fault("crash")) {
        std::raise(SIGSEGV);
    }
    if (fault("hang")) {
        sleep(600);
    }
    float* const ramp_1 = arena + pixels * channels;
    {
        const export_common::LayerTimer timer(profile, 0);
        for (std::size_t i = 0; i < pixels * channels; ++i) {
            arena[i] = image[i] * scale[i % channels];
        }
    }
    {
        const export_common::LayerTimer timer(profile, 1);
        for (std::size_t i = 0; i < steps; ++i) {
            ramp_1[i] = static_cast<float>(i) + 0.5F;
        }
    }
    if (fault("nan")) {
        ramp_1[7] = std::numeric_limits<float>::quiet_NaN();
    }
    *scaled = arena;
    *ramp = ramp_1;
}

void toy_profile(int on) {
    profile.enable(on != 0);
}

std::size_t toy_layer_count(void) {
    return profile.count();
}

const export_common::LayerProfile* toy_layers(void) {
    return profile.layers();
}
