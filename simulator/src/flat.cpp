// SPDX-License-Identifier: EPL-2.0
#include "flat.hpp"

namespace xmedia_sim {

Flat::Table Flat::root() {
    return inside(0, 4) ? table_at(follow(0)) : Table{};
}

Flat::Table Flat::table(const Table& parent, unsigned field) {
    const std::uint32_t at = field_at(parent, field, 4);
    return at == 0 ? Table{} : table_at(follow(at));
}

Flat::Table Flat::element(const Vector& tables, std::uint32_t index) {
    return index < tables.count ? table_at(follow(tables.at + 4 * index)) : Table{};
}

Flat::Vector Flat::vector(const Table& parent, unsigned field, std::uint32_t element_bytes) {
    const std::uint32_t reference = field_at(parent, field, 4);
    const std::uint32_t at = reference == 0 ? 0 : follow(reference);
    if (at == 0 || !aligned(at, 4) || !inside(at, 4)) {
        return {};
    }
    const std::uint32_t count = read32(at);
    if (!inside(std::uint64_t{at} + 4, std::uint64_t{count} * element_bytes)) {
        return {};
    }
    return {at + 4, count};
}

std::string Flat::text(const Table& parent, unsigned field) {
    const Vector bytes = vector(parent, field, 1);
    if (bytes.at == 0 || !inside(std::uint64_t{bytes.at} + bytes.count, 1)) {
        return {};
    }
    if (data_[bytes.at + bytes.count] != 0) {
        good_ = false;
        return {};
    }
    // Long names are cut: many tables may share one string.
    const std::uint32_t length = bytes.count < 255 ? bytes.count : 255;
    return {reinterpret_cast<const char*>(data_ + bytes.at), length};
}

std::uint32_t Flat::field_at(const Table& parent, unsigned field, std::uint32_t bytes) {
    const std::uint32_t slot = 4 + 2 * field;
    if (parent.at == 0 || slot + 2 > parent.vtable_size) {
        return 0;
    }
    const std::uint32_t into = read16(parent.vtable + slot);
    if (into == 0) {
        return 0;
    }
    if (into + bytes > parent.size || !aligned(parent.at + into, bytes)) {
        good_ = false;
        return 0;
    }
    return parent.at + into;
}

std::uint32_t Flat::follow(std::uint32_t at) {
    const std::uint64_t target = std::uint64_t{at} + read32(at);
    if (target == at || target >= size_) {
        good_ = false;
        return 0;
    }
    return static_cast<std::uint32_t>(target);
}

Flat::Table Flat::table_at(std::uint32_t at) {
    if (at == 0 || !aligned(at, 4) || !inside(at, 4)) {
        return {};
    }
    std::int32_t back = 0;
    std::memcpy(&back, data_ + at, sizeof back);
    const std::int64_t vtable = std::int64_t{at} - back;
    if (vtable < 0 || vtable % 2 != 0 || !inside(static_cast<std::uint64_t>(vtable), 4)) {
        good_ = false;
        return {};
    }
    const auto start = static_cast<std::uint32_t>(vtable);
    const Table found{at, start, read16(start), read16(start + 2)};
    if (found.vtable_size < 4 || found.vtable_size % 2 != 0 || found.size < 4 || !inside(start, found.vtable_size) ||
        !inside(at, found.size)) {
        good_ = false;
        return {};
    }
    return found;
}

}  // namespace xmedia_sim
