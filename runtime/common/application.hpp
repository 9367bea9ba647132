// SPDX-License-Identifier: EPL-2.0
// The program around a model: every exported project runs through here, whatever the model.
#pragma once

#include "common/model.hpp"

namespace export_common {

/// Does what the command line asks for.
/// \return Exit code of the program: see message.hpp.
int run(int argc, const char* const* argv, const Model& model);

}  // namespace export_common
