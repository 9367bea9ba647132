// SPDX-License-Identifier: EPL-2.0
// C API of a hand-made model, as an export has it.
#pragma once

#include <cstddef>

#include "common/profile.hpp"

extern "C" {
int toy_init(void);
const char* toy_error(void);
void toy_forward(const float* image, const float* scale, float** scaled, float** ramp);
void toy_profile(int on);
std::size_t toy_layer_count(void);
const export_common::LayerProfile* toy_layers(void);
}
