// SPDX-License-Identifier: EPL-2.0
#pragma once

namespace xmedia_sim {

/// xmedia_sys_init was called, and xmedia_sys_exit was not.
bool system_started();

/// Whether the NPU runtime still needs the system; asked when the system is stopped.
void set_system_user(bool (*in_use)());

}  // namespace xmedia_sim
