// Prints the path of a temporary file made with TMPDIR set to a folder, and removes the file.
//
// usage: temporary_file FOLDER
#include <cstdio>
#include <cstdlib>

#include "../../src/api/base/platform/platform.hpp"

int main(int, char **argv) {
    setenv("TMPDIR", argv[1], 1);
    const auto path = cushim::detail::make_temporary_file();
    if (!path) {
        return 1;
    }
    std::puts(path->c_str());
    cushim::detail::remove_file(path->c_str());
    return 0;
}
