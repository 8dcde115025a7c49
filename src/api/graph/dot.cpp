#include <cushim/graph.hpp>

#include <cstdio>
#include <memory>

#include "base/platform.hpp"
#include "state.hpp"

namespace cushim {
namespace {

// CUDA writes a file, wherever it is told to: one that nobody else can have put there, for as long as this.
class TemporaryFile {
  public:
    explicit TemporaryFile(std::string path) noexcept : path_(std::move(path)) {}
    TemporaryFile(const TemporaryFile &) = delete;
    TemporaryFile &operator=(const TemporaryFile &) = delete;
    ~TemporaryFile() { detail::remove_file(path_.c_str()); }

    const char *path() const noexcept { return path_.c_str(); }

  private:
    const std::string path_;
};

// Without streams: they throw what is no std::bad_alloc.
Result<std::string> read_all(const char *path) {
    const std::unique_ptr<std::FILE, int (*)(std::FILE *)> file(std::fopen(path, "rb"),
                                                                std::fclose);
    std::string text;
    bool ended = !file;
    while (!ended) {
        char part[4096];
        const std::size_t size = std::fread(part, 1, sizeof part, file.get());
        text.append(part, size);
        ended = size < sizeof part;
    }
    if (!file || std::ferror(file.get()) != 0) {
        return Error::make(
            {.status = CUDA_ERROR_OPERATING_SYSTEM, .detail = "a file of CUDA's cannot be read"});
    }
    return text;
}

} // namespace

Result<std::string> Graph::debug_dot(unsigned int flags) const noexcept {
    return detail::with_memory([&]() -> Result<std::string> {
        CUSHIM_TRY(detail::GraphState *const state, detail::state_of_graph(*this));
        CUSHIM_TRY(std::string path, detail::make_temporary_file());
        const TemporaryFile file(std::move(path));
        CUSHIM_TRY(const ContextScope scope, state->enter());
        CUSHIM_TRY_VOID(state->api().read.debug_dot(state->graph, file.path(), flags));
        return read_all(file.path());
    });
}

} // namespace cushim
