// SPDX-License-Identifier: EPL-2.0
// Reads a FlatBuffer without trust: what is out of bounds is absent, and the buffer counts as broken.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

namespace xmedia_sim {

class Flat {
public:
    struct Table {
        std::uint32_t at = 0;  // 0: absent
        std::uint32_t vtable = 0;
        std::uint32_t vtable_size = 0;
        std::uint32_t size = 0;
    };
    struct Vector {
        std::uint32_t at = 0;  // of the first element
        std::uint32_t count = 0;
    };

    Flat(const std::uint8_t* data, std::uint32_t size) : data_(data), size_(size) {}

    bool good() const { return good_; }

    Table root();
    Table table(const Table& parent, unsigned field);
    Table element(const Vector& tables, std::uint32_t index);
    Vector vector(const Table& parent, unsigned field, std::uint32_t element_bytes);
    std::string text(const Table& parent, unsigned field);

    /// A scalar, 0 when absent.
    template <typename T>
    T scalar(const Table& parent, unsigned field) {
        T value{};
        const std::uint32_t at = field_at(parent, field, sizeof(T));
        if (at != 0) {
            std::memcpy(&value, data_ + at, sizeof value);
        }
        return value;
    }

    std::uint32_t number(const Vector& numbers, std::uint32_t index) const {
        return index < numbers.count ? read32(numbers.at + 4 * index) : 0;
    }

private:
    std::uint32_t read32(std::uint32_t at) const {
        std::uint32_t value = 0;
        std::memcpy(&value, data_ + at, sizeof value);
        return value;
    }
    std::uint32_t read16(std::uint32_t at) const {
        std::uint16_t value = 0;
        std::memcpy(&value, data_ + at, sizeof value);
        return value;
    }
    bool inside(std::uint64_t at, std::uint64_t bytes) {
        good_ = good_ && at + bytes <= size_;
        return at + bytes <= size_;
    }
    bool aligned(std::uint32_t at, std::uint32_t bytes) {
        good_ = good_ && at % bytes == 0;
        return at % bytes == 0;
    }
    std::uint32_t field_at(const Table& parent, unsigned field, std::uint32_t bytes);
    std::uint32_t follow(std::uint32_t at);
    Table table_at(std::uint32_t at);

    const std::uint8_t* data_;
    std::uint32_t size_;
    bool good_ = true;
};

}  // namespace xmedia_sim
