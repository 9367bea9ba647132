// SPDX-License-Identifier: EPL-2.0
// Runs conversions that it reads from stdin and writes their results to stdout: see support/conversions.py.
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <vector>

#include "xmedia/quantise.hpp"

using namespace export_xmedia;

namespace {

enum class Operation : std::uint32_t { quantise, dequantise, copy_in, copy_out };

struct Request {
    Operation operation;
    std::uint32_t type;
    std::uint32_t rank;
    std::uint32_t dims[max_rank];
    std::uint32_t pitches[max_rank];
    float scale;
    std::int32_t zero_point;
    std::uint32_t size;
    std::uint32_t axis;
    std::uint32_t channels;  ///< so many floats a, floats b and bytes of order follow
    std::uint32_t source_bytes;
    std::uint32_t target_bytes;
};

bool read(void* data, std::size_t bytes) {
    return bytes == 0 || std::fread(data, bytes, 1, stdin) == 1;
}

template <typename T>
bool read(std::vector<T>* values, std::size_t count) {
    values->resize(count);
    return read(values->data(), count * sizeof(T));
}

bool convert(Operation operation, const TensorSpec& spec, const Preprocessing& pre, const void* source, void* target) {
    switch (operation) {
        case Operation::quantise: return quantise(spec, static_cast<const float*>(source), target, pre);
        case Operation::dequantise: return dequantise(spec, source, static_cast<float*>(target));
        case Operation::copy_in: copy_in(spec, source, target); return true;
        case Operation::copy_out: copy_out(spec, source, target); return true;
    }
    return false;
}

bool serve(const Request& r) {
    std::vector<float> a;
    std::vector<float> b;
    std::vector<std::uint8_t> order;
    // No wider than the data: a sanitizer sees what goes past it.
    std::vector<unsigned char> source;
    std::vector<unsigned char> target(r.target_bytes, 0xA5);
    if (!read(&a, r.channels) || !read(&b, r.channels) || !read(&order, r.channels) || !read(&source, r.source_bytes)) {
        return false;
    }
    TensorSpec spec{"x", 0, static_cast<DataType>(r.type), r.rank, {}, {}, r.scale, r.zero_point, r.size};
    std::memcpy(spec.dims, r.dims, sizeof r.dims);
    std::memcpy(spec.pitches, r.pitches, sizeof r.pitches);
    Preprocessing pre;
    if (r.channels != 0) {
        pre = {static_cast<Channels>(r.axis), r.channels, a.data(), b.data(), order.data()};
    }
    const bool ok = convert(r.operation, spec, pre, source.data(), target.data());
    const char* text = last_error;
    const auto bytes = static_cast<std::uint32_t>(ok ? target.size() : std::strlen(text));
    const std::uint32_t head[] = {ok ? 1U : 0U, bytes};
    const void* answer = ok ? static_cast<const void*>(target.data()) : text;
    return std::fwrite(head, sizeof head, 1, stdout) == 1 && (bytes == 0 || std::fwrite(answer, bytes, 1, stdout) == 1);
}

}  // namespace

int main() {
    Request request{};
    while (read(&request, sizeof request)) {
        if (!serve(request)) {
            return 1;
        }
    }
    return 0;
}
