// SPDX-License-Identifier: EPL-2.0
// What a session adds around the NPU's run, on the simulator, side by side with a memcpy of the same bytes.
// Usage: session_overhead MODEL ROUNDS
// MODEL has one input and one output of uint8, SIDE x SIDE x 3, dense. One line "<what> <nanoseconds> <bytes>" for each
// measurement: the median over the rounds, all of which come once in each round.
#include <xmedia_mmz.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <iterator>
#include <numeric>
#include <random>
#include <vector>

#include "xmedia/session.hpp"

using namespace export_xmedia;

// Served at once: what the simulator does is no part of the measurement.
extern "C" int xmedia_sim_reference(const char*, unsigned, const void* const*, unsigned, void* const*) {
    return 0;
}

namespace {

constexpr std::uint32_t side = 640;
constexpr std::uint32_t bytes = side * side * 3;
constexpr TensorSpec input[] = {
    {"image", 0, DataType::uint8, 4, {1, side, side, 3}, {bytes, side * 3, 3, 1}, 1.0F, 0, bytes}};
constexpr TensorSpec output[] = {{"heat", 1, DataType::uint8, 1, {16}, {1}, 1.0F, 0, 16}};

// As for a network whose compiled input is a normalised image.
constexpr float factors[] = {0.017F, 0.0175F, 0.0174F};
constexpr float summands[] = {-2.1F, -2.0F, -1.8F};
constexpr std::uint8_t order[] = {2, 1, 0};
constexpr Preprocessing normalised{Channels::last, 3, factors, summands, order};
constexpr TensorSpec quantised{
    "image", 0, DataType::uint8, 4, {1, side, side, 3}, {bytes, side * 3, 3, 1}, 0.018658F, 114, bytes};

struct Series {
    const char* what;
    std::uint64_t bytes;
    std::vector<std::uint64_t> times{};
};

template <typename Work>
std::uint64_t timed(Work work) {
    const std::uint64_t start = export_common::nanoseconds();
    work();
    return export_common::nanoseconds() - start;
}

/// Keeps the compiler from leaving a copy out.
void keep(const void* data) {
    asm volatile("" : : "r"(data) : "memory");
}

[[noreturn]] void die(const char* what) {
    std::fprintf(stderr, "%s: %s\n", what, last_error);
    std::exit(1);
}

SessionConfig config_of(bool cached) {
    SessionConfig config;
    config.inputs = input;
    config.outputs = output;
    config.cached = cached;
    return config;
}

/// write_raw + read_raw + what run() does before and after the NPU.
class Overhead {
public:
    Overhead(const char* path, const SessionConfig& config) : session_(config) {
        if (!session_.open(path)) {
            die("open");
        }
    }

    /// \return Nanoseconds of all stages but the NPU's.
    std::uint64_t turn(const unsigned char* image, unsigned char* result) {
        const StageTimes before = session_.times();
        if (!session_.write_raw(0, image) || !session_.run() || !session_.read_raw(0, result)) {
            die("run");
        }
        const StageTimes& after = session_.times();
        return (after.copy_in - before.copy_in) + (after.flush - before.flush) + (after.copy_out - before.copy_out);
    }

    unsigned char* target() { return static_cast<unsigned char*>(session_.input(0)); }

private:
    Session session_;
};

}  // namespace

int main(int argc, char** argv) {
    if (argc != 3) {
        return 2;
    }
    const int rounds = std::atoi(argv[2]);
    const std::vector<unsigned char> image(bytes, 77);
    const std::vector<float> real(bytes, 77.0F);
    std::vector<float> back(bytes, 1.0F);
    std::vector<unsigned char> copy(bytes, 1);
    unsigned char result[16];
    const SessionConfig with_cache = config_of(true);
    const SessionConfig without_cache = config_of(false);
    Overhead cached(argv[1], with_cache);
    Overhead uncached(argv[1], without_cache);
    xmedia_u64 physical = 0;
    if (xmedia_mmz_virt_to_phy(cached.target(), &physical) != 0) {
        die("virt_to_phy");
    }
    Series series[] = {{"memcpy", bytes},        {"session_uncached", bytes}, {"session_cached", bytes},
                       {"bare_cached", bytes},   {"quantise", bytes * 4},     {"quantise_normalised", bytes * 4},
                       {"dequantise", bytes * 4}};
    const std::function<std::uint64_t()> works[] = {
        [&] {
            return timed([&] {
                std::memcpy(uncached.target(), image.data(), bytes);
                keep(uncached.target());
            });
        },
        [&] { return uncached.turn(image.data(), result); },
        [&] { return cached.turn(image.data(), result); },
        // The same copy and flush without a session: the simulator's flush copies lines, the board's does not.
        [&] {
            return timed([&] {
                std::memcpy(cached.target(), image.data(), bytes);
                keep(cached.target());
                xmedia_mmz_flush_cache(physical, cached.target(), bytes);
            });
        },
        [&] { return timed([&] { quantise(input[0], real.data(), copy.data()); }); },
        [&] { return timed([&] { quantise(quantised, real.data(), copy.data(), normalised); }); },
        [&] { return timed([&] { dequantise(input[0], copy.data(), back.data()); }); },
    };
    constexpr std::size_t count = std::size(series);
    static_assert(std::size(works) == count, "one for each");
    std::size_t turns[count];
    std::iota(std::begin(turns), std::end(turns), 0U);
    std::minstd_rand random(1);
    for (int round = -2; round < rounds; ++round) {
        // In any order: what one leaves in the caches does the next one good.
        std::shuffle(std::begin(turns), std::end(turns), random);
        for (const std::size_t which : turns) {
            series[which].times.push_back(works[which]());
        }
        if (round < 0) {
            for (Series& one : series) {
                one.times.clear();  // warming up
            }
        }
    }
    for (Series& one : series) {
        std::nth_element(one.times.begin(), one.times.begin() + rounds / 2, one.times.end());
        std::printf("%s %llu %llu\n", one.what,
                    static_cast<unsigned long long>(one.times[static_cast<std::size_t>(rounds / 2)]),
                    static_cast<unsigned long long>(one.bytes));
    }
    return 0;
}
