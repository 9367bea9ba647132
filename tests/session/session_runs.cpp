// SPDX-License-Identifier: EPL-2.0
// Sessions that do what they should.
// Arguments: a scenario, and what it takes. Exit code 0: all is well.
#include <cstdlib>
#include <string>

#include "session_check.hpp"

using namespace session_check;

namespace {

/// Open, several runs, close, and all of it again.
bool runs(const SessionConfig& config) {
    Session session(config);
    bool ok = true;
    for (unsigned turn = 0; ok && turn < 2; ++turn) {
        ok = expect(session.open(), "a session opens");
        for (unsigned seed = 0; ok && seed < 4; ++seed) {
            ok = Data(seed + turn).infer(session);
        }
        const StageTimes& t = session.times();
        ok = ok && expect(t.runs == 4 && t.check > 0 && t.init > 0 && t.load > 0, "times at open") &&
             expect(t.copy_in > 0 && t.flush > 0 && t.process > 0 && t.copy_out > 0, "times of runs") &&
             expect(session.close(), "a session closes");
    }
    return ok;
}

bool run_in_every_way(const std::string& name) {
    bool ok = true;
    for (const bool cached : {true, false}) {
        for (const int memory : {0, 1, 2}) {
            SessionConfig config = config_of(name);
            config.cached = cached;
            config.own_memory = memory != 1;
            config.shared_workspace = memory == 2 ? 8192 : 0;
            ok = ok && expect(runs(config), cached ? "cached" : "uncached");
        }
    }
    return ok;
}

/// A static object, as in generated code, that nobody closes.
bool left_open() {
    static const SessionConfig config = config_of("plain");
    static Session session(config);
    return expect(session.open(), "a session opens") && Data(1).infer(session);
}

bool asynchronous(const std::string& name) {
    const SessionConfig config = config_of(name);
    Opened session(config);
    bool ok = session.ok;
    for (unsigned seed = 0; ok && seed < 20; ++seed) {
        Heard heard;
        const Data data(seed);
        const bool called = seed % 2 == 0;
        ok = data.write(session) && expect(called ? session.submit(hear, &heard) : session.submit(), "submit") &&
             expect_error(session.submit(), "under way") && expect_error(session.run(), "under way") &&
             expect(session.wait(), "wait") && expect(heard.count == (called ? 1 : 0), "one call") &&
             expect(heard.ok == called, "the call tells of success") && data.matches(session) && data.infer(session);
    }
    ok = ok && expect_error(session.wait(), "no run to wait for");
    // Closed while a run is under way.
    Heard heard;
    return ok && Data(5).write(session) && expect(session.submit(hear, &heard), "submit") &&
           expect(session.close(), "a session closes") && expect(heard.count == 1, "one call");
}

bool batches() {
    SessionConfig config = config_of("plain");
    config.batch = 3;
    Opened session(config);
    bool ok = session.ok && expect(session.batch() == 3, "a batch of 3");
    for (const std::uint32_t batch : {3U, 1U, 2U, 3U}) {
        ok = ok && expect(session.set_batch(batch), "another batch");
        for (std::uint32_t item = 0; ok && item < batch; ++item) {
            ok = Data(batch * 5 + item).write(session, item);
        }
        ok = ok && expect(session.run(), "a run");
        for (std::uint32_t item = 0; ok && item < batch; ++item) {
            ok = Data(batch * 5 + item).matches(session, item);
        }
    }
    float values[image_values] = {};
    return ok && expect_error(session.set_batch(0), "a batch of 0") &&
           expect_error(session.set_batch(4), "room for 3") &&
           expect_error(session.write(0, values, 3), "no input 0 of item 3");
}

bool two_models(std::uint32_t shared) {
    SessionConfig small = config_of("plain");
    SessionConfig large = config_of("large");
    small.shared_workspace = large.shared_workspace = shared;
    small.priority = 3;
    Opened a(small);
    Opened b(large);
    bool ok =
        a.ok && b.ok && expect(a.set_priority(0), "a priority") && expect_error(b.set_priority(4), "INVALID_VALUE");
    for (unsigned seed = 0; ok && seed < 5; ++seed) {
        ok = Data(seed).write(a) && Data(seed + 1).write(b) && expect(a.run() && b.run(), "runs") &&
             Data(seed).matches(a) && Data(seed + 1).matches(b);
    }
    ok = ok && expect(a.submit(), "submit");
    if (ok && shared != 0) {
        ok = expect_error(b.run(), "another session is running in the shared workspace") && expect(a.wait(), "wait");
    } else if (ok) {
        ok = expect(b.submit(), "submit") && expect(b.wait() && a.wait(), "wait");
    }
    // The context stays while one of them needs it.
    return ok && expect(a.close(), "a session closes") && Data(9).infer(b) &&
           expect(a.open(), "a session opens again") && Data(8).infer(a) && Data(7).infer(b);
}

bool every_type() {
    constexpr std::size_t values = 15;
    const SessionConfig config = models::types();
    Opened session(config);
    bool ok = session.ok;
    float source[values];
    for (std::size_t i = 0; i < values; ++i) {
        source[i] = static_cast<float>(i) * 0.5F + 1;
    }
    for (std::size_t i = 0; ok && i < config.inputs.count; ++i) {
        ok = expect(session.write(i, source), "an input is written");
    }
    ok = ok && expect(session.run(), "a run");
    for (std::size_t i = 0; ok && i < config.outputs.count; ++i) {
        float target[values] = {};
        unsigned char raw[values * 4] = {};
        unsigned char again[values * 4] = {};
        ok = expect(session.read(i, target), "an output is read") &&
             expect(std::memcmp(source, target, sizeof source) == 0, "an output is what was written");
        // The models' inputs and outputs have the same types.
        ok = ok && expect(session.read_raw(i, raw) && session.write_raw(i, raw), "raw copies") &&
             expect(session.run() && session.read_raw(i, again), "a run of raw values") &&
             expect(std::memcmp(raw, again, sizeof raw) == 0, "raw values come back");
    }
    return ok;
}

/// Buffers that are used where they are.
bool in_place() {
    const SessionConfig config = config_of("plain");
    Opened session(config);
    if (!session.ok) {
        return false;
    }
    const Data data(11);
    auto* const image = static_cast<unsigned char*>(session.input(0));
    for (std::size_t i = 0; i < image_values; ++i) {
        image[i] = static_cast<unsigned char>(data.image[i]);
    }
    const auto* const heat = static_cast<const unsigned char*>(session.output(0));
    std::uint32_t bytes = 0;
    const void* text = session.private_data(&bytes);
    return expect(session.write(1, data.other) && session.run(), "a run") && data.matches(session) &&
           expect(heat[5] == 2 * data.image[5] + 10, "an output in place") &&
           expect(static_cast<unsigned char*>(session.input(1)) - image == 96, "steps of 8 bytes") &&
           expect(session.input(2) == nullptr && session.output(2) == nullptr, "no third tensor") &&
           expect(bytes == 12 && std::memcmp(text, "private data", 12) == 0, "private data");
}

bool no_private_data() {
    const SessionConfig config = config_of("large");
    Opened session(config);
    std::uint32_t bytes = 1;
    return session.ok && expect(session.private_data(&bytes) == nullptr && bytes == 0, "no private data");
}

long resident_pages() {
    long all = 0;
    long resident = 0;
    if (std::FILE* file = std::fopen("/proc/self/statm", "r")) {
        if (std::fscanf(file, "%ld %ld", &all, &resident) != 2) {
            resident = 0;
        }
        std::fclose(file);
    }
    return resident;
}

/// Many runs, synchronous and not, and many openings. Memory must not grow in the second half.
bool many(unsigned count) {
    const SessionConfig config = config_of("reuse3padded");
    const SessionConfig second = config_of("plain");
    Opened session(config);
    bool ok = session.ok;
    long before = 0;
    for (unsigned i = 0; ok && i < count; ++i) {
        if (i == count / 2) {
            before = resident_pages();
        }
        const Data data(i);
        ok = data.write(session) && expect(i % 2 == 0 ? session.run() : session.submit() && session.wait(), "a run") &&
             data.matches(session);
        if (ok && i % 50 == 0) {
            Opened other(second);
            ok = other.ok && data.infer(other);
        }
    }
    const long grown = resident_pages() - before;
    std::printf("%u runs, %ld pages more\n", count, grown);
    constexpr long tolerated = 32;  // the kernel counts in batches; 32 bytes a run would be 39
    return ok &&
           (std::getenv("SESSION_TEST_ANY_SIZE") != nullptr || expect(grown <= tolerated, "memory does not grow"));
}

}  // namespace

int main(int argc, char** argv) {
    const std::string what = argc > 1 ? argv[1] : "";
    const char* argument = argc > 2 ? argv[2] : "plain";
    const bool ok = what == "runs"         ? run_in_every_way(argument)
                    : what == "once"       ? runs(config_of(argument))
                    : what == "left_open"  ? left_open()
                    : what == "async"      ? asynchronous(argument)
                    : what == "batches"    ? batches()
                    : what == "two_models" ? two_models(0) && two_models(100000)
                    : what == "types"      ? every_type()
                    : what == "in_place"   ? in_place() && no_private_data()
                    : what == "many"       ? many(static_cast<unsigned>(std::atoi(argument)))
                                           : expect(false, "a scenario of that name");
    return ok ? 0 : 1;
}
