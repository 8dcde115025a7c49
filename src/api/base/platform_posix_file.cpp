#include "platform.hpp"

#include <cushim/driver_table.hpp>

#include <cstdlib>

#include <unistd.h>

namespace cushim::detail {

Result<std::string> make_temporary_file() {
    // A process with elevated rights must not write where its caller's environment says.
    const char *const folder = secure_getenv("TMPDIR");
    std::string path = folder != nullptr && folder[0] == '/' ? folder : "/tmp";
    path += "/cushim-XXXXXX";
    const int descriptor = mkstemp(path.data());
    if (descriptor < 0) {
        return Error::make(
            {.status = CUDA_ERROR_OPERATING_SYSTEM, .detail = "cannot create a temporary file"});
    }
    close_descriptor(descriptor);
    return path;
}

void remove_file(const char *path) noexcept {
    (void)unlink(path);
}

} // namespace cushim::detail
