// SPDX-License-Identifier: EPL-2.0
// Sessions that something happens to: each failure has its message, and leaves nothing behind.
// Arguments: a scenario, and what it takes. Exit code 0: all is well.
#include <string>

#include "session_check.hpp"

using namespace session_check;

namespace {

/// Opens, runs and closes, tells every failure, and does the same once more: the fault was a passing one.
bool recovers(const std::string& name) {
    const SessionConfig config = config_of(name);
    Session session(config);
    const Data data(3);
    unsigned failures = 0;
    for (int turn = 0; turn < 2; ++turn) {
        // A failed run leaves the session as good as before.
        bool ok = session.is_open() || session.open();
        ok = ok && data.write(session) && session.run() && data.matches(session) && session.close();
        if (ok) {
            return expect(failures == 1, "one failure");
        }
        std::printf("failure %d: %s\n", last_code, session.error());
        ++failures;
    }
    return expect(false, "the second attempt goes well");
}

/// A job that fails after it was submitted.
bool asynchronous_failure() {
    const SessionConfig config = config_of("plain");
    Opened session(config);
    Heard heard;
    const Data data(7);
    bool ok = session.ok && data.write(session) && expect(session.submit(hear, &heard), "submit") &&
              expect_error(session.wait(), "gave the job up") && expect(heard.count == 1 && !heard.ok, "one call");
    std::printf("failure %d: %s\n", last_code, session.error());
    return ok && data.infer(session);
}

bool workspace_too_small() {
    SessionConfig config = config_of("large");
    config.shared_workspace = 4096;
    Session session(config);
    return expect_error(session.open(), "the shared workspace has 4096 bytes, the model needs 100000");
}

bool misuse() {
    const SessionConfig config = config_of("plain");
    Session session(config);
    float values[image_values] = {};
    bool ok = expect_error(session.write(0, values), "not open") && expect_error(session.run(), "not open") &&
              expect_error(session.submit(), "not open") && expect_error(session.read(0, values), "not open") &&
              expect_error(session.set_batch(1), "not open") && expect(session.input(0) == nullptr, "no input") &&
              expect(session.close() && session.open(), "closing what is not open") &&
              expect_error(session.open(), "open already") && expect_error(session.read(2, values), "no output 2");
    session.close();
    const auto refused = [&](const char* part, auto change) {
        SessionConfig wrong = config_of("plain");
        change(wrong);
        Session broken(wrong);
        return expect_error(broken.open(), part);
    };
    ok = ok && refused("batch 33", [](SessionConfig& c) { c.batch = 33; });
    ok = ok && refused("batch 0", [](SessionConfig& c) { c.batch = 0; });
    ok = ok && refused("reuse type 4", [](SessionConfig& c) { c.reuse_type = 4; });
    ok = ok && refused("2 inputs, 0 outputs", [](SessionConfig& c) { c.outputs = {}; });
    ok = ok && refused("memory of the session's own", [](SessionConfig& c) {
             c.own_memory = false;
             c.shared_workspace = 8192;
         });
    ok = ok && refused("reuse type 0, this program 2", [](SessionConfig& c) { c.reuse_type = 2; });
    ok = ok && refused("one item only", [](SessionConfig& c) {
             c.reuse_type = 1;
             c.batch = 2;
         });
    ok = ok && refused("2 outputs, this program has 1", [](SessionConfig& c) { c.outputs.count = 1; });
    return ok && refused("INVALID_VALUE", [](SessionConfig& c) { c.priority = 4; });
}

/// Everything that the tables say is compared.
bool mismatches() {
    bool ok = true;
    const auto refused = [&ok](const char* part, auto change) {
        SessionConfig config = config_of("plain");
        TensorSpec outputs[] = {config.outputs[0], config.outputs[1]};
        change(outputs[0]);
        config.outputs = outputs;
        Session session(config);
        ok = ok && expect_error(session.open(), part);
    };
    refused("output 0 '': its id is 4 in the file, 5 in this program", [](TensorSpec& t) { t.id = 5; });
    refused("its rank is 4 in the file, 3", [](TensorSpec& t) { t.rank = 3; });
    refused("its dims is 1x3x8x4 in the file, 1x3x4x8", [](TensorSpec& t) { t.dims[2] = 4, t.dims[3] = 8; });
    refused("its pitches is 96x32x4x1 in the file, 96x31x4x1", [](TensorSpec& t) { t.pitches[1] = 31; });
    refused("its type is uint8 in the file, int8", [](TensorSpec& t) { t.type = DataType::int8; });
    refused("its scale is 0.5 in the file, 0.50000006", [](TensorSpec& t) { t.scale = 0.50000006F; });
    refused("its zero point is 10 in the file, 9", [](TensorSpec& t) { t.zero_point = 9; });
    refused("its size is 96 in the file, 100", [](TensorSpec& t) { t.size = 100; });
    refused("no conversion for elements int4", [](TensorSpec& t) { t.type = DataType::int4; });
    return ok;
}

bool open_file(const char* path) {
    const SessionConfig config = config_of("plain");
    Session session(config);
    const bool ok = session.open(path);
    std::printf("failure %d: %s\n", last_code, session.error());
    return !ok;
}

/// Without size and checksum it is the library that finds a damaged file.
bool open_unchecked(const char* path) {
    SessionConfig config = config_of("plain");
    config.file_size = config.file_crc = 0;
    Session session(config);
    const bool ok = session.open(path);
    std::printf("failure %d: %s\n", last_code, session.error());
    return !ok;
}

}  // namespace

int main(int argc, char** argv) {
    const std::string what = argc > 1 ? argv[1] : "";
    const char* argument = argc > 2 ? argv[2] : "plain";
    const bool ok = what == "recovers"     ? recovers(argument)
                    : what == "async"      ? asynchronous_failure()
                    : what == "too_small"  ? workspace_too_small()
                    : what == "misuse"     ? misuse()
                    : what == "mismatches" ? mismatches()
                    : what == "open"       ? open_file(argument)
                    : what == "unchecked"  ? open_unchecked(argument)
                                           : expect(false, "a scenario of that name");
    return ok ? 0 : 1;
}
