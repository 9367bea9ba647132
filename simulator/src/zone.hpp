// SPDX-License-Identifier: EPL-2.0
// The media memory zone: blocks, mappings, and the two views of cached memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace xmedia_sim {

constexpr std::uint64_t zone_base = 0x42000000;
constexpr std::uint32_t page_bytes = 4096;
constexpr std::uint32_t line_bytes = 64;

// What strict mode writes, so that bytes nobody wrote are told apart from each other.
constexpr std::uint8_t fresh_byte = 0xA5;      // device view of new blocks, of outputs and workspace before a job
constexpr std::uint8_t stale_byte = 0x5E;      // CPU view of what a job wrote, until it is flushed
constexpr std::uint8_t clobbered_byte = 0x3C;  // workspace after a job, in any mode

struct Place {
    std::uint64_t physical;
    std::uint64_t room;  // bytes to the end of the mapping
    bool cached;
};

struct ZoneStatistics {
    std::uint64_t used = 0;
    std::uint64_t peak = 0;
    std::uint64_t allocations = 0;
    std::uint64_t failed_allocations = 0;
    std::uint64_t maps = 0;
    std::uint64_t flushes = 0;
    std::uint64_t lines_written_back = 0;
    std::uint64_t lines_invalidated = 0;
};

struct Block {
    std::string name;
    std::uint64_t size = 0;     // as asked for
    std::uint64_t rounded = 0;  // to pages
    unsigned cached_maps = 0;
    unsigned uncached_maps = 0;
    bool cpu_view = false;  // the CPU has looked through its cache
};

class Zone {
public:
    static Zone& instance();

    /// Physical address, 0 when there is no room.
    std::uint64_t allocate(const char* name, std::uint32_t size);
    bool free(std::uint64_t physical);
    void* map(std::uint64_t physical, std::uint32_t size, bool cached);
    bool unmap(const void* address);

    /// Cached lines: changed ones to the device, the others from it. Uncached ones are the device's already.
    bool flush(const void* address, std::uint64_t size);

    /// Where an address points, if it is inside a mapping that lives.
    std::optional<Place> locate(const void* address) const;

    /// Bytes of the range that the CPU changed and did not flush.
    std::uint64_t unflushed(std::uint64_t physical, std::uint64_t size) const;

    /// The device's view. The range is cut at the end of the zone: a job may run past its block, as on the board.
    std::uint8_t* device(std::uint64_t physical, std::uint64_t* size) const;

    /// The device wrote: what the CPU has of it is out of date (made visible in strict mode).
    void written(std::uint64_t physical, std::uint64_t size);

    ZoneStatistics statistics() const;
    std::map<std::uint64_t, Block> blocks() const;
    std::uint64_t bytes() const { return bytes_; }

private:
    struct Mapping {
        std::uintptr_t begin;
        std::uint64_t size;
        std::uint64_t physical;
        bool cached;
    };

    Zone();
    const Mapping* find(const void* address) const;
    std::map<std::uint64_t, Block>::iterator block_of(std::uint64_t physical, std::uint64_t size);
    void protect(std::uint64_t physical, const Block& block, bool cached) const;
    void synchronise(std::uint64_t offset, std::uint64_t size);

    mutable std::mutex mutex_;
    std::uint64_t bytes_ = 0;
    std::uint8_t* device_ = nullptr;    // for the simulator
    std::uint8_t* uncached_ = nullptr;  // the same memory, for the program
    std::uint8_t* cpu_ = nullptr;       // what the CPU sees through its cache
    std::uint8_t* shadow_ = nullptr;    // the CPU's view when it last was in step with the device's
    std::map<std::uint64_t, Block> blocks_;
    std::vector<Mapping> mappings_;
    ZoneStatistics statistics_;
};

}  // namespace xmedia_sim
