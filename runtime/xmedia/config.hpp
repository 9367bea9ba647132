// SPDX-License-Identifier: EPL-2.0
// What a session is told at export, and what it tells of its time.
#pragma once

#include <cstdint>

#include "common/clock.hpp"
#include "common/model.hpp"
#include "xmedia/tensor_spec.hpp"

namespace export_xmedia {

constexpr std::uint32_t max_batch = 32;  ///< the library takes no more
constexpr int priority_unset = -1;

/// How to load and run a model. The tables live elsewhere.
struct SessionConfig {
    const char* path = "";        ///< of the .xmm, unless open() is given another
    std::uint32_t file_size = 0;  ///< as recorded at export; 0 (with file_crc 0): any file with these tensors
    std::uint32_t file_crc = 0;   ///< CRC-32 of the whole file
    export_common::Table<TensorSpec> inputs;
    export_common::Table<TensorSpec> outputs;
    export_common::Table<Preprocessing> preprocessing;  ///< none, or one for each input
    std::uint32_t reuse_type = 0;                       ///< what lives in the workspace: 1 inputs, 2 outputs, 3 both

    bool own_memory = true;              ///< workspace and weights allocated by the session, not by the library
    bool cached = true;                  ///< map inputs and outputs cached
    std::uint32_t shared_workspace = 0;  ///< bytes of the workspace that sessions share, 0: one of its own
    std::uint32_t batch = 1;             ///< items that there is room for
    int priority = priority_unset;       ///< 0 to 3
};

/// Where a session's time went, in nanoseconds.
struct StageTimes {
    std::uint64_t check = 0;     ///< of the model file, at open
    std::uint64_t init = 0;      ///< of system, device and context, at open
    std::uint64_t load = 0;      ///< from query to bound buffers, at open
    std::uint64_t copy_in = 0;   ///< write and write_raw
    std::uint64_t flush = 0;     ///< of inputs and outputs
    std::uint64_t process = 0;   ///< the NPU, as the CPU sees it
    std::uint64_t copy_out = 0;  ///< read and read_raw
    std::uint64_t runs = 0;
};

/// Adds the time from construction to destruction.
class StageTimer {
public:
    explicit StageTimer(std::uint64_t* sum) : sum_(sum), start_(export_common::nanoseconds()) {}
    ~StageTimer() { *sum_ += export_common::nanoseconds() - start_; }
    StageTimer(const StageTimer&) = delete;
    StageTimer& operator=(const StageTimer&) = delete;

private:
    std::uint64_t* sum_;
    std::uint64_t start_;
};

}  // namespace export_xmedia
