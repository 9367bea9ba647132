// SPDX-License-Identifier: EPL-2.0
#include "zone.hpp"

#include "config.hpp"
#include "diagnose.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

namespace xmedia_sim {
namespace {

std::uint64_t up(std::uint64_t value, std::uint64_t multiple) {
    return (value + multiple - 1) / multiple * multiple;
}

std::uint8_t* reserve(std::uint64_t bytes, int protection, int file) {
    const int flags = file < 0 ? MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE : MAP_SHARED | MAP_NORESERVE;
    void* memory = mmap(nullptr, static_cast<std::size_t>(bytes), protection, flags, file, 0);
    if (memory == MAP_FAILED) {
        stop("no address space for a zone of %llu MB", static_cast<unsigned long long>(bytes >> 20));
    }
    return static_cast<std::uint8_t*>(memory);
}

}  // namespace

Zone& Zone::instance() {
    // Not destroyed: programs free memory in destructors of static objects.
    static Zone* const zone = new Zone;
    return *zone;
}

Zone::Zone() : bytes_(std::uint64_t{config().zone_mb} << 20) {
    if (bytes_ == 0) {
        return;
    }
    // Two mappings of one file: the program's is taken away when it unmaps, the device keeps its own.
    const int file = memfd_create("xmedia-sim", MFD_CLOEXEC);
    if (file < 0 || ftruncate(file, static_cast<off_t>(bytes_)) != 0) {
        stop("no memory for a zone of %u MB", config().zone_mb);
    }
    device_ = reserve(bytes_, PROT_READ | PROT_WRITE, file);
    uncached_ = reserve(bytes_, PROT_NONE, file);
    close(file);
    cpu_ = reserve(bytes_, PROT_NONE, -1);
    shadow_ = reserve(bytes_, PROT_READ | PROT_WRITE, -1);
}

std::uint64_t Zone::allocate(const char* name, std::uint32_t size) {
    const std::lock_guard lock(mutex_);
    const std::uint64_t rounded = up(size, page_bytes);
    std::uint64_t at = zone_base;
    for (const auto& [physical, block] : blocks_) {
        if (physical - at >= rounded && rounded != 0) {
            break;
        }
        at = physical + block.rounded;
    }
    if (size == 0 || at + rounded > zone_base + bytes_) {
        ++statistics_.failed_allocations;
        return 0;
    }
    Block& block = blocks_[at];
    block.name = name == nullptr ? "" : name;
    block.size = size;
    block.rounded = rounded;
    std::memset(device_ + (at - zone_base), config().strict ? fresh_byte : 0, static_cast<std::size_t>(rounded));
    ++statistics_.allocations;
    statistics_.used += rounded;
    statistics_.peak = std::max(statistics_.peak, statistics_.used);
    return at;
}

bool Zone::free(std::uint64_t physical) {
    const std::lock_guard lock(mutex_);
    const auto found = blocks_.find(physical);
    if (found == blocks_.end()) {
        misuse("free of 0x%llx, which is no block (freed twice?)", static_cast<unsigned long long>(physical));
        return false;
    }
    Block& block = found->second;
    if (block.cached_maps + block.uncached_maps > 0) {
        misuse("free of block '%s' while it is mapped", block.name.c_str());
    }
    const auto last = std::remove_if(mappings_.begin(), mappings_.end(), [&](const Mapping& mapping) {
        return mapping.physical >= physical && mapping.physical < physical + block.rounded;
    });
    mappings_.erase(last, mappings_.end());
    block.cached_maps = block.uncached_maps = 0;
    protect(physical, block, true);
    protect(physical, block, false);
    statistics_.used -= block.rounded;
    blocks_.erase(found);
    return true;
}

void* Zone::map(std::uint64_t physical, std::uint32_t size, bool cached) {
    const std::lock_guard lock(mutex_);
    const auto found = block_of(physical, size);
    if (found == blocks_.end() || size == 0) {
        misuse("map of %u bytes at 0x%llx, which are not in one block", size,
               static_cast<unsigned long long>(physical));
        return nullptr;
    }
    Block& block = found->second;
    ++(cached ? block.cached_maps : block.uncached_maps);
    protect(found->first, block, cached);
    if (cached && !block.cpu_view) {
        const std::uint64_t offset = found->first - zone_base;
        std::memcpy(cpu_ + offset, device_ + offset, static_cast<std::size_t>(block.rounded));
        std::memcpy(shadow_ + offset, device_ + offset, static_cast<std::size_t>(block.rounded));
        block.cpu_view = true;
    }
    std::uint8_t* address = (cached ? cpu_ : uncached_) + (physical - zone_base);
    mappings_.push_back({reinterpret_cast<std::uintptr_t>(address), size, physical, cached});
    ++statistics_.maps;
    return address;
}

bool Zone::unmap(const void* address) {
    const std::lock_guard lock(mutex_);
    const auto begin = reinterpret_cast<std::uintptr_t>(address);
    const auto found = std::find_if(mappings_.begin(), mappings_.end(),
                                    [&](const Mapping& mapping) { return mapping.begin == begin; });
    if (found == mappings_.end()) {
        misuse("unmap of %p, which is no mapping (unmapped twice?)", address);
        return false;
    }
    const auto owner = block_of(found->physical, found->size);
    Block& block = owner->second;
    --(found->cached ? block.cached_maps : block.uncached_maps);
    protect(owner->first, block, found->cached);
    mappings_.erase(found);
    return true;
}

bool Zone::flush(const void* address, std::uint64_t size) {
    const std::lock_guard lock(mutex_);
    const Mapping* mapping = find(address);
    if (mapping == nullptr) {
        return false;
    }
    ++statistics_.flushes;
    if (mapping->cached) {
        const std::uint64_t into = reinterpret_cast<std::uintptr_t>(address) - mapping->begin;
        synchronise(mapping->physical + into - zone_base, std::min(size, mapping->size - into));
    }
    return true;
}

void Zone::synchronise(std::uint64_t offset, std::uint64_t size) {
    const std::uint64_t end = up(offset + size, line_bytes);
    for (std::uint64_t at = offset / line_bytes * line_bytes; at < end; at += line_bytes) {
        if (std::memcmp(cpu_ + at, shadow_ + at, line_bytes) != 0) {
            std::memcpy(device_ + at, cpu_ + at, line_bytes);
            ++statistics_.lines_written_back;
        } else {
            std::memcpy(cpu_ + at, device_ + at, line_bytes);
            ++statistics_.lines_invalidated;
        }
        std::memcpy(shadow_ + at, cpu_ + at, line_bytes);
    }
}

std::optional<Place> Zone::locate(const void* address) const {
    const std::lock_guard lock(mutex_);
    const Mapping* mapping = find(address);
    if (mapping == nullptr) {
        return std::nullopt;
    }
    const std::uint64_t into = reinterpret_cast<std::uintptr_t>(address) - mapping->begin;
    return Place{mapping->physical + into, mapping->size - into, mapping->cached};
}

std::uint64_t Zone::unflushed(std::uint64_t physical, std::uint64_t size) const {
    const std::lock_guard lock(mutex_);
    std::uint64_t count = 0;
    for (const auto& [begin, block] : blocks_) {
        const std::uint64_t from = std::max(begin, physical);
        const std::uint64_t to = std::min(begin + block.rounded, physical + size);
        for (std::uint64_t at = from; block.cached_maps > 0 && at < to; ++at) {
            count += cpu_[at - zone_base] != shadow_[at - zone_base] ? 1 : 0;
        }
    }
    return count;
}

std::uint8_t* Zone::device(std::uint64_t physical, std::uint64_t* size) const {
    if (physical < zone_base || physical >= zone_base + bytes_) {
        *size = 0;
        return nullptr;
    }
    *size = std::min(*size, zone_base + bytes_ - physical);
    return device_ + (physical - zone_base);
}

void Zone::written(std::uint64_t physical, std::uint64_t size) {
    if (!config().strict) {
        return;
    }
    const std::lock_guard lock(mutex_);
    for (const auto& [begin, block] : blocks_) {
        const std::uint64_t from = std::max(begin, physical);
        const std::uint64_t to = std::min(begin + block.rounded, physical + size);
        for (std::uint64_t at = from; block.cached_maps > 0 && at < to; ++at) {
            const std::uint64_t offset = at - zone_base;
            // A byte that the CPU changed stays: it overwrites the device's with the next flush.
            if (cpu_[offset] == shadow_[offset]) {
                cpu_[offset] = shadow_[offset] = stale_byte;
            }
        }
    }
}

ZoneStatistics Zone::statistics() const {
    const std::lock_guard lock(mutex_);
    return statistics_;
}

std::map<std::uint64_t, Block> Zone::blocks() const {
    const std::lock_guard lock(mutex_);
    return blocks_;
}

const Zone::Mapping* Zone::find(const void* address) const {
    const auto at = reinterpret_cast<std::uintptr_t>(address);
    const Mapping* best = nullptr;
    for (const Mapping& mapping : mappings_) {
        const bool inside = at >= mapping.begin && at - mapping.begin < mapping.size;
        // Mappings of one block may overlap: the one that reaches farthest counts.
        if (inside && (best == nullptr || mapping.begin + mapping.size > best->begin + best->size)) {
            best = &mapping;
        }
    }
    return best;
}

std::map<std::uint64_t, Block>::iterator Zone::block_of(std::uint64_t physical, std::uint64_t size) {
    auto found = blocks_.upper_bound(physical);
    if (found == blocks_.begin()) {
        return blocks_.end();
    }
    --found;
    const std::uint64_t into = physical - found->first;
    return into < found->second.rounded && size <= found->second.rounded - into ? found : blocks_.end();
}

void Zone::protect(std::uint64_t physical, const Block& block, bool cached) const {
    // Reads and writes after the last unmap stop the program at once.
    if (sysconf(_SC_PAGESIZE) == long{page_bytes}) {
        const unsigned maps = cached ? block.cached_maps : block.uncached_maps;
        mprotect((cached ? cpu_ : uncached_) + (physical - zone_base), static_cast<std::size_t>(block.rounded),
                 maps > 0 ? PROT_READ | PROT_WRITE : PROT_NONE);
    } else {
        mprotect(cached ? cpu_ : uncached_, static_cast<std::size_t>(bytes_), PROT_READ | PROT_WRITE);
    }
}

}  // namespace xmedia_sim
