// SPDX-License-Identifier: EPL-2.0
// What the simulator needs of a .xmm file.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace xmedia_sim {

enum class Region : std::int8_t { input = 0, constant = 1, output = 2, workspace = 3 };

struct Tensor {
    std::uint32_t id = 0;
    std::uint32_t offset = 0;  // in its region
    Region region = Region::input;
    std::uint32_t ndims = 0;
    std::array<std::uint32_t, 8> dims{};
    std::array<std::uint32_t, 8> pitches{};
    bool too_many_dims = false;  // more than the runtime has room for
    std::int32_t type = 0;
    float scale = 0;
    std::int32_t zero_point = 0;
    std::uint32_t size = 0;
    std::uint32_t file_offset = 0;
    std::uint32_t crc = 0;
    std::string name;
};

struct Program {
    std::uint32_t size = 0;
    std::uint32_t file_offset = 0;
    std::uint32_t crc = 0;
};

struct Model {
    std::string path;  // empty when it was in memory
    std::string compiler;
    std::uint32_t type = 0;
    std::uint32_t reuse = 0;
    std::vector<Tensor> tensors;
    std::vector<std::uint32_t> inputs, outputs;  // indices of tensors, not checked
    std::vector<Program> programs;
    bool native_programs = false;
    std::vector<std::uint8_t> private_data;
    std::uint32_t code_bytes = 0, weight_bytes = 0, work_bytes = 0, input_bytes = 0, output_bytes = 0;
    std::vector<std::uint8_t> file;  // contents; dropped after loading

    const Tensor& input(std::size_t index) const { return tensors[inputs[index]]; }
    const Tensor& output(std::size_t index) const { return tensors[outputs[index]]; }
    bool input_in_workspace() const { return reuse == 1 || reuse == 3; }
    bool output_in_workspace() const { return reuse == 2 || reuse == 3; }
};

/// Reads a model.
/// \param path   File, or nullptr.
/// \param buffer Contents when there is no file. Their length is what their header says.
/// \param code   Status as the runtime gives it.
/// \return nullptr on failure.
std::shared_ptr<Model> read_model(const char* path, const char* buffer, std::int32_t* code);

/// Checks programs and constants against their checksums, as loading does.
std::int32_t check_contents(const Model& model);

}  // namespace xmedia_sim
