// SPDX-License-Identifier: EPL-2.0
// How a layer reports that XNNPACK refused it: one line that names layer, operator, step, status and dims.
#pragma once

#include <xnnpack.h>

#include <cstddef>
#include <cstdio>
#include <initializer_list>

namespace export_xnnpack {

/// The last failure, empty when there was none. Written by fail(), read by the model's error function.
inline char last_error[320] = "";

inline const char* status_name(xnn_status status) {
    switch (status) {
        case xnn_status_success: return "success";
        case xnn_status_uninitialized: return "XNNPACK is not initialized";
        case xnn_status_invalid_parameter: return "invalid parameter";
        case xnn_status_invalid_state: return "invalid state";
        case xnn_status_unsupported_parameter: return "unsupported parameter";
        case xnn_status_unsupported_hardware: return "unsupported hardware";
        case xnn_status_out_of_memory: return "out of memory";
        default: return "unknown status";
    }
}

/// Records a failure.
/// \param layer Name of the layer in the model.
/// \param type  Operator that failed, e.g. "convolution".
/// \param step  What was being done: "create", "reshape", "setup" or "run".
/// \param dims  The dims that matter, outermost first.
/// \return Always false, so that callers can write `return fail(...)`.
inline bool fail(const char* layer, const char* type, const char* step, xnn_status status,
                 std::initializer_list<std::size_t> dims) {
    char text[96] = "";
    std::size_t used = 0;
    for (const std::size_t dim : dims) {
        const int n = std::snprintf(text + used, sizeof text - used, used == 0 ? "%zu" : "x%zu", dim);
        if (n < 0 || used + static_cast<std::size_t>(n) >= sizeof text) {
            break;
        }
        used += static_cast<std::size_t>(n);
    }
    std::snprintf(last_error, sizeof last_error, "layer '%s': %s: %s failed: %s (dims %s)", layer, type, step,
                  status_name(status), text);
    return false;
}

}  // namespace export_xnnpack
