// SPDX-License-Identifier: EPL-2.0
// Raw tensors in files: read with an exact size check, written whole or not at all.
#pragma once

#include <cstddef>

#include "common/model.hpp"

namespace export_common {

/// Fills `data` with the tensor's bytes from a file. Complains and returns false when it has another size.
bool read_tensor(const char* file, const TensorInfo& tensor, void* data);

/// Whether a file can be read. Complains when not.
bool check_readable(const char* file);

/// Whether `folder` can take the outputs: it is a folder, or can be made. Complains when not. Writes nothing.
bool check_output_folder(const char* folder);

/// Makes the folder unless it exists. Complains and returns false on failure.
bool make_folder(const char* folder);

/// Writes `<folder>/output_<index>.bin`. Complains and leaves no partial file on failure.
bool write_output(const char* folder, std::size_t index, const void* data, std::size_t bytes);

}  // namespace export_common
