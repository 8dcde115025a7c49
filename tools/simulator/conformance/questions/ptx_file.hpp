#pragma once

#include "../record.hpp"

#include <cstdio>
#include <cstdlib>
#include <unistd.h>

namespace record::QUESTIONS {

// A temporary file with the PTX, removed with this object.
class PtxFile {
  public:
    PtxFile() {
        const int fd = mkstemps(path_, 4);
        if (FILE *file = fd == -1 ? nullptr : fdopen(fd, "w")) {
            std::fputs(ptx, file);
            std::fclose(file);
        }
    }
    ~PtxFile() { unlink(path_); }
    const char *path() const { return path_; }

  private:
    char path_[32] = "/tmp/cushim-XXXXXX.ptx";
};

} // namespace record::QUESTIONS
