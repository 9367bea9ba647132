// SPDX-License-Identifier: EPL-2.0
#include "common/files.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>

#include "common/message.hpp"
#include "common/tensor.hpp"

namespace export_common {
namespace {

/// A C file that closes itself.
class File {
public:
    File(const char* name, const char* mode) : file_(std::fopen(name, mode)) {}
    ~File() { close(); }
    File(const File&) = delete;
    File& operator=(const File&) = delete;

    std::FILE* get() const { return file_; }

    /// Only closing tells whether everything reached the disk.
    bool close() {
        const bool good = file_ == nullptr || std::fclose(file_) == 0;
        file_ = nullptr;
        return good;
    }

private:
    std::FILE* file_;
};

std::string parent_of(const char* path) {
    std::string parent = path;
    while (parent.size() > 1 && parent.back() == '/') {
        parent.pop_back();
    }
    const std::size_t slash = parent.rfind('/');
    if (slash == std::string::npos) {
        return ".";
    }
    return slash == 0 ? "/" : parent.substr(0, slash);
}

bool writable_folder(const char* path) {
    struct stat status{};
    if (stat(path, &status) != 0) {
        return false;
    }
    if (!S_ISDIR(status.st_mode)) {
        errno = ENOTDIR;
        return false;
    }
    return access(path, W_OK | X_OK) == 0;
}

}  // namespace

bool read_tensor(const char* file, const TensorInfo& tensor, void* data) {
    const File source(file, "rb");
    if (source.get() == nullptr) {
        complain("cannot read '%s': %s", file, std::strerror(errno));
        return false;
    }
    const std::size_t bytes = tensor_bytes(tensor);
    const std::size_t count = std::fread(data, 1, bytes, source.get());
    if (std::ferror(source.get()) != 0) {
        complain("cannot read '%s': %s", file, std::strerror(errno));
        return false;
    }
    const bool more = count == bytes && std::fgetc(source.get()) != EOF;
    if (count != bytes || more) {
        struct stat status{};
        const bool regular = fstat(fileno(source.get()), &status) == 0 && S_ISREG(status.st_mode);
        complain("'%s' has %s%lld bytes, input '%s' (%s, raw) takes %zu", file, more && !regular ? "more than " : "",
                 regular ? static_cast<long long>(status.st_size) : static_cast<long long>(count), tensor.name,
                 TensorText(tensor).text, bytes);
        return false;
    }
    return true;
}

bool check_readable(const char* file) {
    if (access(file, R_OK) != 0) {
        complain("cannot read '%s': %s", file, std::strerror(errno));
        return false;
    }
    return true;
}

bool check_output_folder(const char* folder) {
    if (writable_folder(folder)) {
        return true;
    }
    if (errno == ENOENT && writable_folder(parent_of(folder).c_str())) {
        return true;
    }
    complain("cannot write to the folder '%s': %s", folder, std::strerror(errno));
    return false;
}

bool make_folder(const char* folder) {
    if (mkdir(folder, 0777) == 0 || errno == EEXIST) {
        return true;
    }
    complain("cannot make the folder '%s': %s", folder, std::strerror(errno));
    return false;
}

bool write_output(const char* folder, std::size_t index, const void* data, std::size_t bytes) {
    const std::string name = std::string(folder) + "/output_" + std::to_string(index) + ".bin";
    File destination(name.c_str(), "wb");
    const bool good = destination.get() != nullptr && std::fwrite(data, 1, bytes, destination.get()) == bytes;
    const int error = errno;
    if (!destination.close() || !good) {
        complain("cannot write '%s': %s", name.c_str(), std::strerror(good ? errno : error));
        std::remove(name.c_str());
        return false;
    }
    return true;
}

}  // namespace export_common
