// SPDX-License-Identifier: EPL-2.0
#include "model.hpp"

#include "crc32.hpp"
#include "diagnose.hpp"
#include "flat.hpp"
#include "xmedia_cl_common.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

namespace xmedia_sim {
namespace {

constexpr std::uint32_t magic = 0x5A5A5A5A;
constexpr std::uint32_t header_bytes = 16;
constexpr std::uint32_t largest_count = 1U << 16;  // of tables: they may be shared, so the file's size is no bound
constexpr std::uint64_t largest_file = std::uint64_t{1} << 30;

std::uint64_t up8(std::uint64_t value) {
    return (value + 7) / 8 * 8;
}
std::uint32_t narrow(std::uint64_t value) {
    return static_cast<std::uint32_t>(value);
}

bool read_file(const char* path, std::vector<std::uint8_t>& to) {
    std::FILE* file = std::fopen(path, "rb");
    if (file == nullptr) {
        return false;
    }
    std::array<std::uint8_t, 65536> part;
    std::size_t got = 0;
    while ((got = std::fread(part.data(), 1, part.size(), file)) > 0 && to.size() <= largest_file) {
        to.insert(to.end(), part.begin(), part.begin() + static_cast<std::ptrdiff_t>(got));
    }
    const bool good = std::ferror(file) == 0 && to.size() <= largest_file;
    std::fclose(file);
    return good;
}

std::vector<std::uint32_t> numbers(Flat& flat, const Flat::Table& table, unsigned field) {
    const Flat::Vector vector = flat.vector(table, field, 4);
    std::vector<std::uint32_t> read(vector.count);
    for (std::uint32_t i = 0; i < vector.count; ++i) {
        read[i] = flat.number(vector, i);
    }
    return read;
}

Tensor read_tensor(Flat& flat, const Flat::Table& table) {
    Tensor tensor;
    tensor.id = flat.scalar<std::uint32_t>(table, 0);
    tensor.offset = flat.scalar<std::uint32_t>(table, 1);
    tensor.region = static_cast<Region>(flat.scalar<std::int8_t>(table, 2));
    tensor.scale = flat.scalar<float>(table, 4);
    tensor.zero_point = flat.scalar<std::int32_t>(table, 5);
    tensor.size = flat.scalar<std::uint32_t>(table, 6);
    tensor.file_offset = flat.scalar<std::uint32_t>(table, 7);
    tensor.crc = flat.scalar<std::uint32_t>(table, 8);
    tensor.name = flat.text(table, 11);
    flat.text(table, 10);
    const Flat::Table shape = flat.table(table, 3);
    const Flat::Vector dims = flat.vector(shape, 0, 4);
    const Flat::Vector pitches = flat.vector(shape, 1, 4);
    tensor.too_many_dims = dims.count > tensor.dims.size() || pitches.count > tensor.pitches.size();
    // All eight, those behind the last dimension too: the runtime hands them on.
    for (std::uint32_t i = 0; i < tensor.dims.size(); ++i) {
        tensor.dims[i] = flat.number(dims, i);
        tensor.pitches[i] = flat.number(pitches, i);
    }
    tensor.type = flat.scalar<std::int8_t>(shape, 2);
    tensor.ndims = flat.scalar<std::uint32_t>(shape, 3);
    return tensor;
}

template <typename Read>
bool each(Flat& flat, const Flat::Table& root, unsigned field, Read read) {
    const Flat::Vector tables = flat.vector(root, field, 4);
    for (std::uint32_t i = 0; i < tables.count && tables.count <= largest_count && flat.good(); ++i) {
        read(flat.element(tables, i));
    }
    return flat.good() && tables.count <= largest_count;
}

Program read_program(Flat& flat, const Flat::Table& table) {
    flat.text(table, 0);
    flat.text(table, 6);
    return {flat.scalar<std::uint32_t>(table, 1), flat.scalar<std::uint32_t>(table, 2),
            flat.scalar<std::uint32_t>(table, 3)};
}

bool describe(Flat& flat, Model& model) {
    const Flat::Table root = flat.root();
    const Flat::Table info = flat.table(root, 0);
    flat.text(info, 0);
    model.compiler = flat.text(info, 1);
    model.type = flat.scalar<std::uint32_t>(info, 2);
    model.inputs = numbers(flat, root, 1);
    model.outputs = numbers(flat, root, 2);
    const bool good =
        each(flat, root, 3, [&](const Flat::Table& table) { model.tensors.push_back(read_tensor(flat, table)); }) &&
        each(flat, root, 4,
             [&](const Flat::Table& node) {
                 flat.text(node, 0);
                 flat.vector(node, 4, 4);
                 flat.vector(node, 5, 4);
             }) &&
        each(flat, root, 5,
             [&](const Flat::Table& table) {
                 read_program(flat, table);
                 model.native_programs = true;
             }) &&
        each(flat, root, 6, [&](const Flat::Table& table) { model.programs.push_back(read_program(flat, table)); }) &&
        each(flat, root, 7,
             [&](const Flat::Table& table) {
                 flat.vector(table, 1, 4);
                 flat.vector(table, 2, 4);
             }) &&
        each(flat, root, 16, [&](const Flat::Table& table) { flat.vector(table, 1, 4); });
    for (const unsigned field : {10U, 11U, 12U, 13U, 15U}) {
        flat.vector(root, field, 4);
    }
    model.reuse = flat.scalar<std::uint32_t>(root, 17);
    const std::vector<std::uint32_t> data = numbers(flat, root, 18);
    model.private_data.resize(data.size() * 4);
    if (!data.empty()) {
        std::memcpy(model.private_data.data(), data.data(), model.private_data.size());
    }
    return good && flat.good() && root.at != 0;
}

void add_up(Model& model) {
    std::array<std::uint64_t, 4> end{};
    for (const Tensor& tensor : model.tensors) {
        const auto region = static_cast<std::size_t>(tensor.region);
        if (region < end.size()) {
            end[region] = std::max(end[region], up8(std::uint64_t{tensor.offset} + tensor.size));
        }
    }
    const auto sum = [&](const std::vector<std::uint32_t>& indices) {
        std::uint64_t bytes = 0;
        for (const std::uint32_t index : indices) {
            bytes += index < model.tensors.size() ? up8(model.tensors[index].size) : 0;
        }
        return narrow(bytes);
    };
    std::uint64_t code = 0;
    for (const Program& program : model.programs) {
        code += program.size;
    }
    std::uint64_t work = end[3];
    if (model.input_in_workspace()) {
        work = std::max(work, end[0]);
    }
    if (model.output_in_workspace()) {
        work = std::max(work, end[2]);
    }
    model.code_bytes = narrow(up8(code));
    model.weight_bytes = narrow(end[1]);
    model.work_bytes = narrow(work);
    model.input_bytes = sum(model.inputs);
    model.output_bytes = sum(model.outputs);
}

}  // namespace

std::shared_ptr<Model> read_model(const char* path, const char* buffer, std::int32_t* code) {
    auto model = std::make_shared<Model>();
    std::array<std::uint32_t, 4> header{};
    *code = XMEDIA_CL_READ_MODEL_FAIL;
    if (path != nullptr) {
        model->path = path;
        if (!read_file(path, model->file) || model->file.size() < header_bytes) {
            return nullptr;
        }
    }
    std::memcpy(header.data(), path != nullptr ? static_cast<const void*>(model->file.data()) : buffer, header_bytes);
    const auto* lengths = reinterpret_cast<const std::uint8_t*>(&header[2]);
    if (header[0] != magic || header[1] != crc32(lengths, 8)) {
        *code = XMEDIA_CL_INVALID_MODEL;
        return nullptr;
    }
    const std::uint64_t end = std::uint64_t{header[2]} + header[3];
    if (path == nullptr) {
        // Nobody says how long the buffer is but its own header.
        const auto* bytes = reinterpret_cast<const std::uint8_t*>(buffer);
        model->file.assign(bytes, bytes + static_cast<std::size_t>(std::max<std::uint64_t>(end, header_bytes)));
    }
    if (end > model->file.size()) {
        return nullptr;
    }
    Flat flat(model->file.data() + header[2], header[3]);
    if (!describe(flat, *model)) {
        *code = XMEDIA_CL_INVALID_MODEL;
        return nullptr;
    }
    if (model->reuse > 3) {
        *code = XMEDIA_CL_INVALID_VALUE;
        return nullptr;
    }
    add_up(*model);
    *code = XMEDIA_CL_SUCCESS;
    return model;
}

std::int32_t check_contents(const Model& model) {
    const auto inside = [&](std::uint64_t offset, std::uint64_t size) { return offset + size <= model.file.size(); };
    for (const auto* indices : {&model.inputs, &model.outputs}) {
        for (const std::uint32_t index : *indices) {
            if (index >= model.tensors.size()) {
                crash("input or output %u of a model with %zu tensors", index, model.tensors.size());
            }
        }
    }
    std::uint64_t code = 0;
    for (const Program& program : model.programs) {
        code += program.size;
        if (code > model.code_bytes || !inside(program.file_offset, program.size)) {
            crash("program of %u bytes in a file of %zu", program.size, model.file.size());
        }
        if (crc32(model.file.data() + program.file_offset, program.size) != program.crc) {
            return XMEDIA_CL_INVALID_MODEL;
        }
    }
    for (const Tensor& tensor : model.tensors) {
        if (tensor.too_many_dims) {
            crash("tensor %u has more than 8 dims or pitches", tensor.id);
        }
        if (tensor.region != Region::constant) {
            continue;
        }
        if (!inside(tensor.file_offset, tensor.size) ||
            std::uint64_t{tensor.offset} + tensor.size > model.weight_bytes) {
            crash("constant %u of %u bytes in a file of %zu", tensor.id, tensor.size, model.file.size());
        }
        if (crc32(model.file.data() + tensor.file_offset, tensor.size) != tensor.crc) {
            return XMEDIA_CL_INVALID_MODEL;
        }
    }
    return XMEDIA_CL_SUCCESS;
}

}  // namespace xmedia_sim
