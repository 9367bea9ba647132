// SPDX-License-Identifier: EPL-2.0
#include "summary.hpp"

#include "config.hpp"
#include "diagnose.hpp"
#include "zone.hpp"

#include <cstdio>
#include <mutex>

namespace xmedia_sim {
namespace {

struct Watch {
    std::mutex mutex;
    bool used = false;
    std::vector<std::shared_ptr<Record>> records;
    std::vector<std::function<void(std::vector<std::string>&)>> alive;
};

Watch& watch() {
    static Watch* const made = new Watch;
    return *made;
}

unsigned long long wide(std::uint64_t value) {
    return value;
}

std::vector<std::string> leaks() {
    std::vector<std::string> found;
    for (const auto& ask : watch().alive) {
        ask(found);
    }
    for (const auto& [physical, block] : Zone::instance().blocks()) {
        char line[160];
        std::snprintf(line, sizeof line, "block '%s' of %llu bytes at 0x%llx%s", block.name.c_str(), wide(block.size),
                      wide(physical), block.cached_maps + block.uncached_maps > 0 ? ", mapped" : "");
        found.emplace_back(line);
    }
    return found;
}

void write_summary(std::FILE* to, const std::vector<std::string>& left) {
    const Zone& zone = Zone::instance();
    const ZoneStatistics mmz = zone.statistics();
    std::fprintf(to, "xmedia-sim summary\n");
    std::fprintf(to, "mmz zone: 0x%llx, %llu kB\n", wide(zone_base), wide(zone.bytes() >> 10));
    std::fprintf(to, "mmz used: %llu kB, peak %llu kB\n", wide(mmz.used >> 10), wide(mmz.peak >> 10));
    std::fprintf(to, "mmz blocks: %llu allocated, %llu refused, %llu mapped\n", wide(mmz.allocations),
                 wide(mmz.failed_allocations), wide(mmz.maps));
    std::fprintf(to, "mmz flushes: %llu, %llu lines written back, %llu invalidated\n", wide(mmz.flushes),
                 wide(mmz.lines_written_back), wide(mmz.lines_invalidated));
    std::fprintf(to, "models: %zu\n", watch().records.size());
    for (const auto& record : watch().records) {
        std::fprintf(to, "model %s: code %u, weights %u, workspace %u, input %u, output %u\n", record->path.c_str(),
                     record->code, record->weights, record->workspace, record->input, record->output);
        std::fprintf(to,
                     "  runs %llu, jobs %llu, failed %llu; outputs from reference %llu, golden %llu, pattern %llu\n",
                     wide(record->runs), wide(record->jobs), wide(record->failed), wide(record->hook),
                     wide(record->golden), wide(record->pattern));
    }
    std::fprintf(to, "leaks: %zu\n", left.size());
    for (const std::string& leak : left) {
        std::fprintf(to, "  %s\n", leak.c_str());
    }
}

// A destructor of the program, not atexit(): it runs after those of static objects, which may release sessions.
__attribute__((destructor)) void end() {
    if (!watch().used) {
        return;
    }
    const std::vector<std::string> left = leaks();
    const std::string& where = config().summary;
    if (where == "1") {
        write_summary(stderr, left);
    } else if (!where.empty()) {
        if (std::FILE* file = std::fopen(where.c_str(), "w")) {
            write_summary(file, left);
            std::fclose(file);
        } else {
            note("cannot write the summary to %s", where.c_str());
        }
    }
    if (!left.empty()) {
        misuse("leak at exit: %s%s", left.front().c_str(), left.size() > 1 ? " and more" : "");
    }
}

}  // namespace

void add_record(const std::shared_ptr<Record>& record) {
    const std::lock_guard lock(watch().mutex);
    auto& records = watch().records;
    // Loading a model over and over must not grow the list: an unloaded one is continued.
    for (auto& known : records) {
        if (known->path == record->path && known.use_count() == 1) {
            record->runs += known->runs;
            record->jobs += known->jobs;
            record->failed += known->failed;
            record->hook += known->hook;
            record->golden += known->golden;
            record->pattern += known->pattern;
            known = record;
            return;
        }
    }
    records.push_back(record);
}

void at_exit(std::function<void(std::vector<std::string>&)> alive) {
    const std::lock_guard lock(watch().mutex);
    // What started last is named first: what it holds is the reason for what else is left.
    watch().alive.insert(watch().alive.begin(), std::move(alive));
}

void watch_exit() {
    const std::lock_guard lock(watch().mutex);
    watch().used = true;
}

}  // namespace xmedia_sim
