// SPDX-License-Identifier: EPL-2.0
// Where the outputs of a job come from: a linked reference, golden vectors beside the file, or a pattern.
#pragma once

#include "model.hpp"
#include "summary.hpp"

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

// Defined by the program that has a reference of the model. Arrays of 32-bit floats, dense, in the order of the
// file's dims; real values, not stored ones. Returns 0 when it has written all outputs.
extern "C" int xmedia_sim_reference(const char* path, unsigned n_in, const void* const* in, unsigned n_out,
                                    void* const* out) __attribute__((weak));

namespace xmedia_sim {

using Bytes = std::vector<std::uint8_t>;

class Reference {
public:
    Reference(std::shared_ptr<const Model> model, std::shared_ptr<Record> record);

    /// What the NPU makes of one item: outputs come with what lay in memory before, so that padding stays.
    void run(const std::vector<Bytes>& inputs, std::vector<Bytes>& outputs);

private:
    struct Golden {
        std::vector<Bytes> inputs, outputs;
    };

    void read_golden();
    bool linked(const std::vector<Bytes>& inputs, std::vector<Bytes>& outputs) const;
    const Golden* matching(const std::vector<Bytes>& inputs) const;
    void pattern(const std::vector<Bytes>& inputs, std::vector<Bytes>& outputs) const;

    std::shared_ptr<const Model> model_;
    std::shared_ptr<Record> record_;
    std::vector<std::vector<std::uint32_t>> input_offsets_, output_offsets_;
    std::vector<Golden> golden_;
    std::atomic<bool> warned_{false};
};

}  // namespace xmedia_sim
