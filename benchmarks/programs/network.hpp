// SPDX-License-Identifier: EPL-2.0
// What a program of this folder measures: one network on one fixed input. Defined by a generated file per contender.
#pragma once

#include <cstddef>

/// Starts the network. \return Whether that worked.
bool network_init();

/// Runs it once. \return Whether that worked.
bool network_run();
