// SPDX-License-Identifier: EPL-2.0
// The check that a model file is the one of the export: its size and CRC-32, before the NPU is started.
#pragma once

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "xmedia/failure.hpp"

namespace export_xmedia {

/// Table s of slice-by-4: what a byte adds to the CRC when s more bytes follow it.
constexpr std::array<std::array<std::uint32_t, 256>, 4> make_crc_tables() {
    std::array<std::array<std::uint32_t, 256>, 4> tables{};
    for (std::uint32_t byte = 0; byte < 256; ++byte) {
        std::uint32_t crc = byte;
        for (int bit = 0; bit < 8; ++bit) {
            crc = (crc >> 1U) ^ ((crc & 1U) != 0U ? 0xEDB88320U : 0U);
        }
        tables[0][byte] = crc;
    }
    for (std::size_t s = 1; s < 4; ++s) {
        for (std::size_t byte = 0; byte < 256; ++byte) {
            const std::uint32_t before = tables[s - 1][byte];
            tables[s][byte] = (before >> 8U) ^ tables[0][before & 0xFFU];
        }
    }
    return tables;
}

inline constexpr std::array<std::array<std::uint32_t, 256>, 4> crc_tables = make_crc_tables();

/// Continues a CRC-32 as zlib's crc32() does; start with 0.
inline std::uint32_t crc32(std::uint32_t crc, const unsigned char* data, std::size_t bytes) {
    crc = ~crc;
    for (; bytes >= 4; bytes -= 4, data += 4) {
        crc ^= static_cast<std::uint32_t>(data[0]) | (static_cast<std::uint32_t>(data[1]) << 8U) |
               (static_cast<std::uint32_t>(data[2]) << 16U) | (static_cast<std::uint32_t>(data[3]) << 24U);
        crc = crc_tables[3][crc & 0xFFU] ^ crc_tables[2][(crc >> 8U) & 0xFFU] ^ crc_tables[1][(crc >> 16U) & 0xFFU] ^
              crc_tables[0][crc >> 24U];
    }
    for (; bytes > 0; --bytes, ++data) {
        crc = (crc >> 8U) ^ crc_tables[0][(crc ^ *data) & 0xFFU];
    }
    return ~crc;
}

/// A file open for reading that closes itself.
class ModelFile {
public:
    explicit ModelFile(const char* path) : descriptor_(::open(path, O_RDONLY | O_CLOEXEC)) {}
    ~ModelFile() {
        if (descriptor_ >= 0) {
            ::close(descriptor_);
        }
    }
    ModelFile(const ModelFile&) = delete;
    ModelFile& operator=(const ModelFile&) = delete;

    bool is_open() const { return descriptor_ >= 0; }

    /// The size of a regular file.
    bool size(std::uint64_t* bytes) const {
        struct stat status{};
        if (fstat(descriptor_, &status) != 0) {
            return false;
        }
        if (!S_ISREG(status.st_mode)) {
            errno = EINVAL;
            return false;
        }
        *bytes = static_cast<std::uint64_t>(status.st_size);
        return true;
    }

    /// Reads it from the beginning to the end, in small pieces.
    bool checksum(std::uint32_t* crc) const {
        unsigned char piece[8192];
        *crc = 0;
        for (;;) {
            const ssize_t count = ::read(descriptor_, piece, sizeof piece);
            if (count > 0) {
                *crc = crc32(*crc, piece, static_cast<std::size_t>(count));
            } else if (count == 0) {
                return true;
            } else if (errno != EINTR) {
                return false;
            }
        }
    }

private:
    int descriptor_;
};

/// Whether a file has the size and checksum recorded at export; tells what it has instead.
inline bool check_model_file(const char* path, std::uint32_t expected_size, std::uint32_t expected_crc) {
    const ModelFile file(path);
    std::uint64_t size = 0;
    std::uint32_t crc = 0;
    if (!file.is_open() || !file.size(&size)) {
        return fail_text(Stage::check, "cannot read '%.200s': %s", path, std::strerror(errno));
    }
    if (size != expected_size) {
        return fail_text(Stage::check, "'%.200s' has %llu bytes, the model of this program has %lu: not the same file",
                         path, static_cast<unsigned long long>(size), static_cast<unsigned long>(expected_size));
    }
    if (!file.checksum(&crc)) {
        return fail_text(Stage::check, "cannot read '%.200s': %s", path, std::strerror(errno));
    }
    return crc == expected_crc ||
           fail_text(
               Stage::check,
               "'%.200s' has the CRC-32 %08lx, the model of this program has %08lx: damaged, or not the same file",
               path, static_cast<unsigned long>(crc), static_cast<unsigned long>(expected_crc));
}

}  // namespace export_xmedia
