// SPDX-License-Identifier: EPL-2.0
// Where the model file is: where the program was told, else beside the program.
#pragma once

#include <unistd.h>

#include <cstddef>
#include <cstdio>
#include <cstring>

namespace export_xmedia {

/// For generated code, which starts every runtime before its layers: sessions start the NPU's themselves.
inline bool start() {
    return true;
}

/// A model file chosen by the program, nullptr where it has chosen none. What it points to must stay.
inline const char* chosen_model_path = nullptr;

/// Path of a model file, valid until the next call.
/// \param name Name of the file beside the program.
inline const char* model_path(const char* name) {
    static char path[4096];
    if (chosen_model_path != nullptr) {
        return chosen_model_path;
    }
    const ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
    path[length > 0 ? length : 0] = '\0';
    char* const slash = std::strrchr(path, '/');
    char* const end = slash == nullptr ? path : slash + 1;
    const std::size_t room = sizeof path - static_cast<std::size_t>(end - path);
    const int written = std::snprintf(end, room, "%s", name);
    return written >= 0 && static_cast<std::size_t>(written) < room ? path : name;
}

}  // namespace export_xmedia
