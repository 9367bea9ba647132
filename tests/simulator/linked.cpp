// SPDX-License-Identifier: EPL-2.0
// A reference in the program: prints what it was given, and what the runtime made of what it answered.
#include "support.hpp"

#include <cmath>

namespace {

std::size_t elements(const xmedia_cl_tensor& tensor) {
    std::size_t count = 1;
    for (xmedia_cl_u32 dim = 0; dim < tensor.shape.ndims; ++dim) {
        count *= tensor.shape.dims[dim];
    }
    return count;
}

std::size_t inputs, outputs;

}  // namespace

/// Outputs: 0.0, 0.5, 1.0, ... plus the first input, and some that no integer holds.
extern "C" int xmedia_sim_reference(const char* path, unsigned n_in, const void* const* in, unsigned n_out,
                                    void* const* out) {
    CHECK(path != nullptr && n_in == 1 && n_out == 1);
    const auto* values = static_cast<const float*>(in[0]);
    for (std::size_t i = 0; i < inputs; ++i) {
        std::printf("in %.9g\n", static_cast<double>(values[i]));
    }
    auto* results = static_cast<float*>(out[0]);
    for (std::size_t i = 0; i < outputs; ++i) {
        results[i] = static_cast<float>(i) * 0.5F + values[0];
    }
    results[outputs - 1] = NAN;
    results[outputs - 2] = 1e12F;
    results[outputs - 3] = -1e12F;
    // What it does not know it leaves to the next rule.
    return values[0] < 0 ? 1 : 0;
}

int main(int argc, char** argv) {
    CHECK(argc == 2);
    Npu npu;
    Model model(npu, argv[1]);
    inputs = elements(model.in->tensor[0]);
    outputs = elements(model.out->tensor[0]);
    auto* bytes = static_cast<std::uint8_t*>(model.in->tensor[0].addr);
    for (xmedia_cl_u32 i = 0; i < model.in->tensor[0].size; ++i) {
        const int byte = std::getchar();
        bytes[i] = static_cast<std::uint8_t>(byte == EOF ? 0 : byte);
    }
    model.bind();
    EQUAL(xmedia_cl_graph_process(model.graph), 0);
    std::printf("out");
    for (const std::uint8_t byte : model.result()) {
        std::printf(" %02x", byte);
    }
    std::printf("\n");
    return 0;
}
