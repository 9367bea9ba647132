// SPDX-License-Identifier: EPL-2.0
// What the process did with the NPU, and what it leaves behind: for the summary and the leak check at exit.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace xmedia_sim {

/// A model that was loaded, kept after it is unloaded.
struct Record {
    std::string path;
    std::uint32_t code = 0, weights = 0, workspace = 0, input = 0, output = 0;
    std::atomic<std::uint64_t> runs{0};    // calls of process and submit
    std::atomic<std::uint64_t> jobs{0};    // one for each item of a batch
    std::atomic<std::uint64_t> failed{0};  // jobs
    std::atomic<std::uint64_t> hook{0}, golden{0}, pattern{0};
};

/// Registers a model; the summary merges what the same file did.
void add_record(const std::shared_ptr<Record>& record);

/// A function that names what is still alive at exit, e.g. "context (2 references)".
void at_exit(std::function<void(std::vector<std::string>&)> alive);

/// Makes sure that the end of the process is seen.
void watch_exit();

}  // namespace xmedia_sim
