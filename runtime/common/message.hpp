// SPDX-License-Identifier: EPL-2.0
// How the program complains: one line on stderr, and the exit codes that go with it.
#pragma once

namespace export_common {

constexpr int exit_ok = 0;
constexpr int exit_failed = 1;  ///< start-up, a layer, or writing results failed
constexpr int exit_usage = 2;   ///< the command line or an input file is wrong; nothing was written

/// Prints "<program>: <message>" as one line on stderr, whatever characters the message holds.
[[gnu::format(printf, 1, 2)]] void complain(const char* format, ...);

}  // namespace export_common
