// SPDX-License-Identifier: EPL-2.0
#include "diagnose.hpp"

#include "config.hpp"

#include <unistd.h>

#include <cstdarg>
#include <cstdio>
#include <cstdlib>

namespace xmedia_sim {
namespace {

void print(const char* kind, const char* format, std::va_list arguments) {
    char line[480];
    std::vsnprintf(line, sizeof line, format, arguments);
    // One call, so that lines of several threads stay whole.
    std::fprintf(stderr, "xmedia-sim: %s%s\n", kind, line);
}

[[noreturn]] void leave(int code) {
    std::fflush(nullptr);
    _exit(code);
}

}  // namespace

void note(const char* format, ...) {
    if (config().quiet) {
        return;
    }
    std::va_list arguments;
    va_start(arguments, format);
    print("", format, arguments);
    va_end(arguments);
}

std::int32_t failed(std::int32_t code, const char* format, ...) {
    if (!config().quiet) {
        std::va_list arguments;
        va_start(arguments, format);
        char line[400];
        std::vsnprintf(line, sizeof line, format, arguments);
        va_end(arguments);
        std::fprintf(stderr, "xmedia-sim: %s: %d\n", line, code);
    }
    return code;
}

void misuse(const char* format, ...) {
    if (!config().strict) {
        return;
    }
    std::va_list arguments;
    va_start(arguments, format);
    print("misuse: ", format, arguments);
    va_end(arguments);
    leave(misuse_exit_code);
}

void crash(const char* format, ...) {
    std::va_list arguments;
    va_start(arguments, format);
    print("the runtime would crash: ", format, arguments);
    va_end(arguments);
    if (config().strict) {
        leave(misuse_exit_code);
    }
    std::abort();
}

void stop(const char* format, ...) {
    std::va_list arguments;
    va_start(arguments, format);
    print("", format, arguments);
    va_end(arguments);
    leave(misuse_exit_code);
}

}  // namespace xmedia_sim
