// A temporary file with these bytes, removed on destruction.
#pragma once

#include <catch2/catch_test_macros.hpp>

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <string>
#include <string_view>

namespace api_test {

class TemporaryFile {
  public:
    explicit TemporaryFile(std::string_view bytes) : path_(new_path()) {
        std::FILE *file = std::fopen(path_.c_str(), "wb");
        REQUIRE(file != nullptr);
        CHECK(std::fwrite(bytes.data(), 1, bytes.size(), file) == bytes.size());
        std::fclose(file);
    }
    ~TemporaryFile() { std::remove(path_.c_str()); }
    TemporaryFile(const TemporaryFile &) = delete;
    TemporaryFile &operator=(const TemporaryFile &) = delete;

    const char *path() const { return path_.c_str(); }

  private:
    // A path unique in this process and among processes.
    std::string new_path() const {
        std::string all;
        for (int number = 0; all.empty() || std::filesystem::exists(all); ++number) {
            const auto name = "cushim-test-" +
                              std::to_string(reinterpret_cast<std::uintptr_t>(this)) + "-" +
                              std::to_string(number);
            all = (std::filesystem::temp_directory_path() / name).string();
        }
        return all;
    }

    std::string path_;
};

} // namespace api_test
