// SPDX-License-Identifier: EPL-2.0
// Writes JSON to a C stream, one value after another.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdio>

namespace export_common {

class Json {
public:
    explicit Json(std::FILE* stream) : stream_(stream) {}

    /// Keys are named inside objects and left out inside arrays.
    void begin_object(const char* key = nullptr) { open(key, '{'); }
    void end_object() { close('}'); }
    void begin_array(const char* key = nullptr) { open(key, '['); }
    void end_array() { close(']'); }

    void text(const char* key, const char* value) {
        item(key);
        quote(value);
    }
    void count(const char* key, std::size_t value) {
        item(key);
        std::fprintf(stream_, "%zu", value);
    }
    /// JSON has no infinities and no NaN: they become null.
    void number(const char* key, double value) {
        item(key);
        if (std::isfinite(value)) {
            std::fprintf(stream_, "%.9g", value);
        } else {
            std::fputs("null", stream_);
        }
    }

private:
    void open(const char* key, char bracket) {
        item(key);
        std::fputc(bracket, stream_);
        first_ = true;
    }
    void close(char bracket) {
        std::fputc(bracket, stream_);
        first_ = false;
    }
    void item(const char* key) {
        if (!first_) {
            std::fputs(", ", stream_);
        }
        first_ = false;
        if (key != nullptr) {
            quote(key);
            std::fputs(": ", stream_);
        }
    }
    void quote(const char* text) {
        std::fputc('"', stream_);
        for (; *text != '\0'; ++text) {
            const auto c = static_cast<unsigned char>(*text);
            if (c == '"' || c == '\\') {
                std::fputc('\\', stream_);
                std::fputc(c, stream_);
            } else if (c < 0x20 || c == 0x7f) {
                std::fprintf(stream_, "\\u%04x", c);
            } else {
                std::fputc(c, stream_);  // UTF-8 stays as it is
            }
        }
        std::fputc('"', stream_);
    }

    std::FILE* stream_;
    bool first_ = true;
};

}  // namespace export_common
