// SPDX-License-Identifier: EPL-2.0
#include "common/message.hpp"

#include <cstdarg>
#include <cstdio>

namespace export_common {

void complain(const char* format, ...) {
    char text[1024];
    std::va_list arguments;
    va_start(arguments, format);
    std::vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    for (char* c = text; *c != '\0'; ++c) {
        // A file name may hold a line break.
        if (static_cast<unsigned char>(*c) < ' ') {
            *c = '?';
        }
    }
    std::fprintf(stderr, "run_export: %s\n", text);
}

}  // namespace export_common
