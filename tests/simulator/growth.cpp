// SPDX-License-Identifier: EPL-2.0
// Many runs, loads and allocations: nothing grows.
#include "support.hpp"

#include <unistd.h>

namespace {

/// Resident memory in pages.
long resident() {
    long size = 0;
    long pages = 0;
    std::FILE* file = std::fopen("/proc/self/statm", "r");
    if (file == nullptr || std::fscanf(file, "%ld %ld", &size, &pages) != 2) {
        pages = 0;
    }
    if (file != nullptr) {
        std::fclose(file);
    }
    return pages;
}

void rounds(Npu& npu, const std::string& path, int count) {
    for (int i = 0; i < count / 100; ++i) {
        Model model(npu, path);
        model.bind();
        for (int run = 0; run < 50; ++run) {
            EQUAL(xmedia_cl_graph_process(model.graph), 0);
            xmedia_cl_event event = nullptr;
            EQUAL(xmedia_cl_graph_submit(model.graph, &event), 0);
            EQUAL(xmedia_cl_wait_for_events(1, &event), 0);
            EQUAL(xmedia_cl_release_event(event), 0);
        }
    }
}

}  // namespace

int main(int argc, char** argv) {
    CHECK(argc == 3);
    const int count = std::atoi(argv[2]);
    Npu npu;
    rounds(npu, argv[1], 1000);
    const long before = resident();
    rounds(npu, argv[1], count);
    std::printf("%ld\n", (resident() - before) * sysconf(_SC_PAGESIZE) / 1024);
    return 0;
}
