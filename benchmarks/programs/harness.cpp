// SPDX-License-Identifier: EPL-2.0
// Runs one network for measurements.
//   harness loop N      starts it and runs it N times
//   harness serve CLOCK reads numbers, one a line; runs the network so many times and prints each time in ns;
//                       CLOCK is wall or cpu
//   harness memory      starts it, runs it once, prints the resident memory in kB
#include <time.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "network.hpp"

namespace {

int broken() {
    std::fputs("harness: the network failed\n", stderr);
    return 1;
}

int loop(long runs) {
    if (!network_init()) {
        return broken();
    }
    for (long i = 0; i < runs; ++i) {
        if (!network_run()) {
            return broken();
        }
    }
    return 0;
}

long long nanoseconds(clockid_t clock) {
    timespec time{};
    clock_gettime(clock, &time);
    return time.tv_sec * 1'000'000'000LL + time.tv_nsec;
}

int serve(clockid_t clock) {
    if (!network_init() || !network_run()) {
        return broken();
    }
    std::puts("ready");
    std::fflush(stdout);
    std::vector<long long> times;
    for (int runs = 0; std::scanf("%d", &runs) == 1 && runs > 0;) {
        times.assign(static_cast<std::size_t>(runs), 0);
        for (long long& time : times) {
            const long long begin = nanoseconds(clock);
            if (!network_run()) {
                return broken();
            }
            time = nanoseconds(clock) - begin;
        }
        for (const long long time : times) {
            std::printf("%lld ", time);
        }
        std::putchar('\n');
        std::fflush(stdout);
    }
    return 0;
}

int memory() {
    if (!network_init() || !network_run()) {
        return broken();
    }
    char text[4096] = "";
    std::FILE* const file = std::fopen("/proc/self/status", "r");
    if (file == nullptr) {
        return 1;
    }
    while (std::fgets(text, sizeof text, file) != nullptr) {
        if (std::strncmp(text, "VmRSS:", 6) == 0 || std::strncmp(text, "VmHWM:", 6) == 0 ||
            std::strncmp(text, "Rss", 3) == 0) {
            std::fputs(text, stdout);
        }
    }
    std::fclose(file);
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc == 3 && std::strcmp(argv[1], "loop") == 0) {
        return loop(std::atol(argv[2]));
    }
    if (argc == 3 && std::strcmp(argv[1], "serve") == 0) {
        return serve(std::strcmp(argv[2], "cpu") == 0 ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC);
    }
    if (argc == 2 && std::strcmp(argv[1], "memory") == 0) {
        return memory();
    }
    std::fputs("usage: harness loop N | serve wall | serve cpu | memory\n", stderr);
    return 2;
}
