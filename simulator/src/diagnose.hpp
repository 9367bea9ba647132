// SPDX-License-Identifier: EPL-2.0
// One line on stderr for what goes wrong, and the end of the process where it cannot go on.
#pragma once

#include <cstdint>

#define XMEDIA_SIM_PRINTF(text, first) __attribute__((format(printf, text, first)))

namespace xmedia_sim {

/// Exit code of a process that strict mode ends.
constexpr int misuse_exit_code = 97;

/// A line for the reader; silent with XMEDIA_SIM_QUIET.
void note(const char* format, ...) XMEDIA_SIM_PRINTF(1, 2);

/// A failed call: logs and hands the code on.
std::int32_t failed(std::int32_t code, const char* format, ...) XMEDIA_SIM_PRINTF(2, 3);

/// What the runtime lets pass and a program must not do: ends the process in strict mode, does nothing else.
void misuse(const char* format, ...) XMEDIA_SIM_PRINTF(1, 2);

/// What makes the runtime of the board crash: ends the process in any mode.
[[noreturn]] void crash(const char* format, ...) XMEDIA_SIM_PRINTF(1, 2);

/// A fault of whoever set up the simulator.
[[noreturn]] void stop(const char* format, ...) XMEDIA_SIM_PRINTF(1, 2);

}  // namespace xmedia_sim
