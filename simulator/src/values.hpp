// SPDX-License-Identifier: EPL-2.0
// Elements of a tensor: where they lie, and what number they stand for.
#pragma once

#include "model.hpp"

#include <cstdint>
#include <vector>

namespace xmedia_sim {

/// Bytes of an element, 0 for types that are packed or unknown.
std::uint32_t element_bytes(std::int32_t type);

/// Offsets of all elements in the order of the dims; empty when dims and pitches do not fit the tensor's size.
std::vector<std::uint32_t> element_offsets(const Tensor& tensor);

/// (stored - zero point) * scale
float real_value(const Tensor& tensor, const std::uint8_t* at);

/// Rounds half to even and saturates, as the NPU's outputs do.
void store_value(const Tensor& tensor, float real, std::uint8_t* at);

}  // namespace xmedia_sim
