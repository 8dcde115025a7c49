// Compressed fatbins: written by nvcc, damaged, unreadable.
#include "../support/contains.hpp"
#include "fatbins.hpp"
#include "images.hpp"

#include <filesystem>
#include <fstream>
#include <iterator>

#ifndef _WIN32
#include <unistd.h>
#endif

using namespace sim_test;
using support::contains;

namespace {

const std::string ptx = ".version 7.0\n.target sm_52\n.address_size 64\n"
                        ".visible .entry from_ptx(.param .u64 a, .param .u32 n) { ret; }\n"
                        ".visible .entry another_from_ptx(.param .u64 a, .param .u32 n) { ret; }\n";

// A sequence of an LZ4 block: literals, then a match of at least 4 bytes unless `distance` is 0.
std::string lz4_sequence(const std::string &literals, std::size_t distance = 0,
                         std::size_t match = 0) {
    const auto more = [](std::size_t length) {
        std::string bytes;
        if (length >= 15) {
            bytes = std::string((length - 15) / 255, '\xff');
            bytes += static_cast<char>((length - 15) % 255);
        }
        return bytes;
    };
    const auto nibble = [](std::size_t length) { return length < 15 ? length : 15; };
    const std::size_t extra = distance != 0 ? match - 4 : 0;
    std::string bytes(1, static_cast<char>(nibble(literals.size()) << 4 | nibble(extra)));
    bytes += more(literals.size()) + literals;
    return distance != 0 ? bytes + little(distance, 2) + more(extra) : bytes;
}

// The second entry of `ptx` matches the first; the newlines in front are a match within itself.
std::string lz4_block(std::string &whole) {
    whole = std::string(300, '\n') + ptx;
    const std::size_t second = ptx.rfind(".visible .entry "), first = ptx.find(".visible .entry ");
    return lz4_sequence("\n", 1, 299) + lz4_sequence(ptx.substr(0, second), second - first, 16) +
           lz4_sequence(ptx.substr(second + 16));
}

// A zstd frame with one uncompressed block that holds the whole content.
std::string zstd_frame(const std::string &content) {
    const auto size = static_cast<std::uint64_t>(content.size());
    return little(0xfd2fb528, 4) + little(0xa0, 1) +
           little(size, 4) +                   // one segment, 4 bytes of size
           little(size << 3 | 1, 3) + content; // the last block, raw
}

std::string fatbin_of(const std::string &packed, unsigned int flags, std::size_t whole_size) {
    return fatbin(fatbin_entry(1, 52, packed, {flags, packed.size(), whole_size}));
}

bool has_zstd() {
#ifdef _WIN32
    return false;
#else
    return exported("libzstd.so.1", "ZSTD_decompress") != nullptr;
#endif
}

} // namespace

TEST_CASE("a fatbin compressed with LZ4 is loaded") {
    std::string whole;
    const std::string packed = lz4_block(whole);
    const std::string image = fatbin_of(packed, lz4_flags, whole.size());
    const LoadedModule module(image.data());
    CHECK(module.function("from_ptx") != nullptr);
    CHECK(module.function("another_from_ptx") != nullptr);
}

TEST_CASE("a fatbin compressed with zstd is loaded") {
    if (!has_zstd()) {
        SKIP("libzstd.so.1 is not installed");
    }
    const std::string image = fatbin_of(zstd_frame(ptx), zstd_flags, ptx.size());
    const LoadedModule module(image.data());
    CHECK(module.function("from_ptx") != nullptr);
}

TEST_CASE("loading a damaged compressed image fails with INVALID_IMAGE") {
    const auto load = [](const std::string &bytes, unsigned int flags, std::size_t size) {
        return load_status(fatbin_of(bytes, flags, size).data());
    };
    std::string whole;
    const std::string packed = lz4_block(whole);
    for (std::size_t length = 0; length < packed.size(); ++length) {
        INFO(length);
        CHECK(load(packed.substr(0, length), lz4_flags, whole.size()) == CUDA_ERROR_INVALID_IMAGE);
    }
    const std::size_t huge = ~std::size_t(0);
    for (const std::size_t size : {std::size_t(0), whole.size() - 1, whole.size() + 1, huge}) {
        INFO(size);
        CHECK(load(packed, lz4_flags, size) == CUDA_ERROR_INVALID_IMAGE);
    }
    if (has_zstd()) {
        const std::string frame = zstd_frame(ptx);
        check_all(CUDA_ERROR_INVALID_IMAGE, {load(frame.substr(0, 40), zstd_flags, ptx.size()),
                                             load(frame, zstd_flags, ptx.size() - 1),
                                             load(frame, zstd_flags, ptx.size() + 1)});
    }
}

// The size is checked before memory is allocated.
TEST_CASE("an uncompressed size that the compressed bytes cannot have is rejected") {
    const std::string problem =
        "an image in the fatbin is compressed, but its uncompressed size is invalid\n";
    std::string whole;
    const std::string packed = lz4_block(whole);
    CHECK(error_of(fatbin_of(packed, lz4_flags, 255 * (packed.size() + 1)),
                   CUDA_ERROR_INVALID_IMAGE) == problem);
    if (has_zstd()) {
        const std::string frame = zstd_frame(ptx);
        CHECK(error_of(fatbin_of(frame, zstd_flags, (frame.size() + 1) << 15),
                       CUDA_ERROR_INVALID_IMAGE) == problem);
    }
}

TEST_CASE("a fatbin with an unknown compression is rejected with the reason") {
    const std::string unknown = fatbin_entry(1, 52, ptx, {0x11, ptx.size(), ptx.size()});
    CHECK(contains(error_of(fatbin(unknown), CUDA_ERROR_NO_BINARY_FOR_GPU), "--no-compress"));
    // Another image that fits the device is used instead.
    const std::string both =
        fatbin(fatbin_entry(2, 90, "compressed", {lz4_flags, 10, 100}) + fatbin_entry(1, 52, ptx));
    ok(load_status(both.data()));
    CHECK(error_of(fatbin(fatbin_entry(1, 100, ptx, {lz4_flags, 9, 9})),
                   CUDA_ERROR_NO_BINARY_FOR_GPU) == "the fatbin has no image for this device\n");
}

#ifndef _WIN32
namespace {

std::string nvcc() {
    for (const char *path : {"/usr/local/cuda/bin/nvcc", "/usr/bin/nvcc"}) {
        if (std::filesystem::exists(path)) {
            return path;
        }
    }
    return "";
}

std::string contents(const std::filesystem::path &path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

} // namespace

TEST_CASE("fatbins that nvcc compresses are loaded") {
    if (nvcc().empty() || !has_zstd()) {
        SKIP("requires nvcc and libzstd.so.1");
    }
    char folder[] = "/tmp/cushim-fatbin-XXXXXX";
    REQUIRE(mkdtemp(folder) != nullptr);
    const std::filesystem::path place = folder;
    std::ofstream(place / "blur.cu")
        << "extern \"C\" __global__ void blur(float *to, const float *from, int n) {\n"
           "    const int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
           "    if (i > 0 && i < n - 1) to[i] = (from[i - 1] + from[i] + from[i + 1]) / 3;\n"
           "}\n";
    const auto compile = [&](const std::string &how) {
        const std::string image = (place / "blur.fatbin").string();
        const std::string command = nvcc() + " -fatbin " + how + " " +
                                    (place / "blur.cu").string() + " -o " + image + " > " +
                                    (place / "log").string() + " 2>&1";
        return std::system(command.c_str()) == 0 ? contents(image) : std::string();
    };
    start("cc=9.0");
    int compiled = 0;
    for (const char *code : {"compute_75", "[sm_90,compute_90]"}) {
        for (const char *mode : {"", " --compress-mode=size", " --compress-mode=speed"}) {
            INFO(code << mode);
            const std::string architecture = std::string(code) == "compute_75" ? "75" : "90";
            const std::string image =
                compile("-gencode arch=compute_" + architecture + ",code=" + code + mode);
            if (image.empty()) { // nvcc of CUDA 12.3 and older has no such mode
                CHECK(*mode != '\0');
                continue;
            }
            ++compiled;
            const LoadedModule module(image.data());
            CHECK(module.function("blur") != nullptr);
        }
    }
    CHECK(compiled >= 2);
    std::filesystem::remove_all(place);
}
#endif
