// SPDX-License-Identifier: EPL-2.0
// Questions about damaged files in memory: any answer will do, but there must be one.
#include "support.hpp"

#include <cstring>
#include <fstream>
#include <iterator>
#include <random>

int main(int argc, char** argv) {
    CHECK(argc == 3);
    std::ifstream file(argv[1], std::ios::binary);
    const std::vector<char> good(std::istreambuf_iterator<char>(file), {});
    std::uint32_t start = 0;
    CHECK(good.size() > 16);
    std::memcpy(&start, &good[8], sizeof start);
    std::minstd_rand random(1);
    const auto below = [&](std::size_t end) { return static_cast<std::size_t>(random()) % end; };
    int accepted = 0;
    for (int i = std::atoi(argv[2]); i > 0; --i) {
        std::vector<char> bad = good;
        for (std::size_t changes = 1 + below(4); changes > 0; --changes) {
            const unsigned values[] = {0, 1, 4, 127, 255, static_cast<unsigned>(below(256))};
            // The header stays: it alone says how long the buffer is.
            bad[start + below(bad.size() - start)] = static_cast<char>(values[below(6)]);
        }
        xmedia_cl_mem_info info{};
        accepted += xmedia_cl_graph_query_model_info_from_buff(bad.data(), &info, XMEDIA_CL_MEM_INFO) == 0 ? 1 : 0;
    }
    std::printf("%d\n", accepted);
    return 0;
}
