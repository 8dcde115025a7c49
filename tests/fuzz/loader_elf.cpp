// The parts of a library that the loader reads before the dynamic linker does:
// src/loader/platform/posix_elf.c.
#include "../../src/loader/platform/platform.h"
#include "fuzz.hpp"

#include <string>

#include <sys/mman.h>
#include <unistd.h>

namespace {

// A file in memory, with a path for other functions to open.
struct File {
    const int descriptor = memfd_create("fuzz", MFD_CLOEXEC);
    const std::string path = "/proc/self/fd/" + std::to_string(descriptor);
};

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
    static const File file;
    fuzz::require(ftruncate(file.descriptor, 0) == 0 &&
                  pwrite(file.descriptor, data, size, 0) == static_cast<ssize_t>(size));
    Text detail;
    const auto kind = cushim_platform_inspect_file(file.path.c_str(), &detail);
    fuzz::require((kind == CUSHIM_FILE_LIBRARY) == (detail.chars[0] == '\0'));
    return 0;
}
