// SPDX-License-Identifier: EPL-2.0
// What the scenarios share: complaints, data, and the reference that the simulator's NPU computes.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "models.hpp"
#include "xmedia/session.hpp"

namespace session_check {

using namespace export_xmedia;

/// Complains where something is not so.
inline bool expect(bool holds, const char* what) {
    if (!holds) {
        std::printf("not so: %s (last error: %s)\n", what, last_error);
    }
    return holds;
}

/// Complains where a call that should have failed has not, or with another message.
inline bool expect_error(bool result, const char* part) {
    return expect(!result, part) && expect(std::strstr(last_error, part) != nullptr, part);
}

constexpr std::size_t image_values = 96;
constexpr std::size_t other_values = 5;

/// Inputs and outputs of the models with an image, an item of a batch.
struct Data {
    float image[image_values];
    float other[other_values];

    /// Values that all types on the way hold exactly.
    explicit Data(unsigned seed) {
        for (std::size_t i = 0; i < image_values; ++i) {
            image[i] = static_cast<float>((i * 7 + seed * 13) % 120);
        }
        for (std::size_t i = 0; i < other_values; ++i) {
            other[i] = static_cast<float>(i) * 0.5F - static_cast<float>(seed % 8);
        }
    }

    bool write(Session& session, std::uint32_t item = 0) const {
        return expect(session.write(0, image, item) && session.write(1, other, item), "inputs are written");
    }

    /// Whether the session's outputs are what the reference makes of this.
    bool matches(Session& session, std::uint32_t item = 0) const {
        float heat[image_values] = {};
        float line[other_values] = {};
        if (!expect(session.read(0, heat, item) && session.read(1, line, item), "outputs are read")) {
            return false;
        }
        bool same = true;
        for (std::size_t i = 0; i < image_values; ++i) {
            same = same && heat[i] == image[i];
        }
        for (std::size_t i = 0; i < other_values; ++i) {
            same = same && line[i] == 2 * other[other_values - 1 - i];
        }
        return expect(same, "outputs are those of these inputs");
    }

    bool infer(Session& session) const { return write(session) && expect(session.run(), "a run") && matches(session); }
};

/// A session that must open.
struct Opened : Session {
    explicit Opened(const SessionConfig& config) : Session(config), ok(expect(open(), "a session opens")) {}
    explicit Opened(const SessionConfig&& config) = delete;
    bool ok;
};

/// What a callback was told.
struct Heard {
    std::atomic<int> count{0};
    std::atomic<bool> ok{false};
};

inline void hear(bool ok, void* user) {
    auto& heard = *static_cast<Heard*>(user);
    heard.ok = ok;
    ++heard.count;
}

inline SessionConfig config_of(const std::string& name) {
    const struct {
        const char* name;
        SessionConfig config;
    } all[] = {
        {"plain", models::plain()},
        {"padded", models::padded()},
        {"large", models::large()},
        {"reuse1", models::reuse1()},
        {"reuse2", models::reuse2()},
        {"reuse3", models::reuse3()},
        {"reuse1padded", models::reuse1padded()},
        {"reuse2padded", models::reuse2padded()},
        {"reuse3padded", models::reuse3padded()},
    };
    for (const auto& one : all) {
        if (name == one.name) {
            return one.config;
        }
    }
    std::printf("no model '%s'\n", name.c_str());
    std::exit(2);
}

}  // namespace session_check
