// cushim-info --audit --root: a program, a library that it may need, and the configuration of the
// dynamic linker, in a temporary root. An input contains them in this order, separated by "\n@@\n";
// the last two may be missing.
#include "audit.hpp"
#include "fuzz.hpp"

#include <filesystem>
#include <fstream>
#include <string>

#include <unistd.h>

using namespace cushim_info;
namespace fs = std::filesystem;

namespace {

class RootFolder {
  public:
    RootFolder() {
        std::string name = (fs::temp_directory_path() / "cushim-fuzz-XXXXXX").string();
        fuzz::require(mkdtemp(name.data()) != nullptr);
        folder_ = name;
        for (const char *folder : {"bin", "etc", "lib"}) {
            fs::create_directory(folder_ / folder);
        }
    }
    ~RootFolder() {
        std::error_code ignored;
        fs::remove_all(folder_, ignored);
    }
    RootFolder(const RootFolder &) = delete;
    RootFolder &operator=(const RootFolder &) = delete;

    const fs::path &folder() const { return folder_; }
    fs::path write(const char *name, std::string_view bytes) const {
        std::ofstream(folder_ / name, std::ios::binary) << bytes;
        return folder_ / name;
    }

  private:
    fs::path folder_;
};

// In memory, which is much faster; most inputs end here.
bool is_binary(std::string_view bytes) try {
    Source source = Source::of_bytes(std::string(bytes));
    (void)read_binary(source);
    return true;
} catch (const Unreadable &) {
    return false;
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
    static const RootFolder root;
    const auto parts = fuzz::parts(data, size, "\n@@\n", 3);
    if (!is_binary(parts[0])) {
        return 0;
    }
    const auto part = [&](std::size_t i) { return i < parts.size() ? parts[i] : ""; };
    const fs::path program = root.write("bin/app", parts[0]);
    root.write("lib/libfuzz.so", part(1));
    root.write("etc/ld.so.conf", part(2));
    try {
        const LibrarySearch search(root.folder());
        const std::vector<Audit> audits = {audit_file(program, search)};
        fuzz::require(!audits_as_text(audits).empty() && !audits_as_json(audits, "0").empty());
        (void)exit_status(audits);
    } catch (const TooMuch &) {
    }
    return 0;
}
