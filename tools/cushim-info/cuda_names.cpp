#include "cuda_names.hpp"

#include <algorithm>
#include <iterator>
#include <string>

#include "windows_names.hpp"

namespace cushim_info {
namespace {

// File names in lower case, without "lib" and the suffix: ".so.13", "64_13.dll".
constexpr std::string_view toolkit_names[] = {"accinj",
                                              "cublas",
                                              "cublaslt",
                                              "cublasmp",
                                              "cudadebugger",
                                              "cudla",
                                              "cudnn",
                                              "cudss",
                                              "cufft",
                                              "cufftmp",
                                              "cufftw",
                                              "cufile",
                                              "cufile_rdma",
                                              "cuinj",
                                              "cupti",
                                              "curand",
                                              "cusolver",
                                              "cusolvermg",
                                              "cusolvermp",
                                              "cusparse",
                                              "cusparselt",
                                              "custatevec",
                                              "cutensor",
                                              "cutensormg",
                                              "cutensornet",
                                              "nccl",
                                              "nppc",
                                              "nppial",
                                              "nppicc",
                                              "nppicom",
                                              "nppidei",
                                              "nppif",
                                              "nppig",
                                              "nppim",
                                              "nppist",
                                              "nppisu",
                                              "nppitc",
                                              "npps",
                                              "nvblas",
                                              "nvcuvid",
                                              "nvencodeapi",
                                              "nvfatbin",
                                              "nvgraph",
                                              "nvidia-encode",
                                              "nvidia-fbc",
                                              "nvidia-ml",
                                              "nvidia-nvvm",
                                              "nvidia-opticalflow",
                                              "nvidia-ptxjitcompiler",
                                              "nvinfer",
                                              "nvjitlink",
                                              "nvjpeg",
                                              "nvjpeg2k",
                                              "nvml",
                                              "nvonnxparser",
                                              "nvoptix",
                                              "nvparsers",
                                              "nvperf_host",
                                              "nvperf_target",
                                              "nvrtc",
                                              "nvshmem",
                                              "nvtiff",
                                              "nvtoolsext",
                                              "nvtx3interop",
                                              "nvvm"};

// The toolkit libraries with a drop-in whose file has another name than their description
// (tools/tables/libraries).
struct Renamed {
    std::string_view file, library;
};
constexpr Renamed renamed[] = {
    {"nvidia-ml", "nvml"}, {"nvidia-encode", "nvenc"}, {"nvencodeapi", "nvenc"}};
constexpr std::string_view with_dropin[] = {
    "cublas",   "cublaslt", "cudnn",   "cufft",     "cupti",  "curand", "cusolver", "cusolvermg",
    "cusparse", "nccl",     "nvcuvid", "nvjitlink", "nvjpeg", "nvml",   "nvrtc"};

// Prefixes of CUDA libraries: "cudnn_ops", "nvrtc-builtins".
constexpr std::string_view toolkit_prefixes[] = {"cudnn_", "nvrtc-", "nvshmem_"};

// Beginnings of interop function names after "cu" or "cuda" and an optional "Graphics".
constexpr std::string_view interop_prefixes[] = {
    "D3D", "EGL", "EventCreateFromEGL", "GL", "ResourceGetMappedEgl", "VDPAU", "WGL"};

// Functions that nvcc defines in each file, next to runtime functions of similar names.
constexpr std::string_view nvcc_prefixes[] = {"__cudaRegisterLinkedBinary",
                                              "__cudaUnregisterBinaryUtil"};

bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

bool is_hexadecimal(char c) {
    return is_digit(c) || (c >= 'a' && c <= 'f');
}

// "libcublasLt.so.13" is "cublaslt", "cublasLt64_13.dll" is "cublaslt64_13"; "" if it is not a
// library.
std::string stem_of(std::string_view file_name) {
    std::string name =
        lower_case(file_name.substr(file_name.find_last_of("/\\") + 1)); // npos + 1 is 0
    if (name.find(".so") == std::string::npos && !name.ends_with(".dll")) {
        return {};
    }
    name.resize(name.find('.'));
    return name.starts_with("lib") ? name.substr(3) : name;
}

// "64_13", "_130_0": word size and version of a DLL.
bool is_version(std::string_view text) {
    return !text.empty() &&
           std::all_of(text.begin(), text.end(), [](char c) { return is_digit(c) || c == '_'; });
}

// "-d0da41ae": a suffix that tools for Python wheels add to copied libraries.
bool is_hash(std::string_view text) {
    return text.size() == 9 && text.front() == '-' &&
           std::all_of(text.begin() + 1, text.end(), is_hexadecimal);
}

// Users may have libraries such as libcuda_helpers.so.
bool is_named(std::string_view stem, std::string_view name) {
    if (!stem.starts_with(name)) {
        return false;
    }
    const std::string_view rest = stem.substr(name.size());
    return rest.empty() || is_version(rest) || is_hash(rest);
}

bool is_of_toolkit(std::string_view stem) {
    return std::any_of(std::begin(toolkit_names), std::end(toolkit_names),
                       [stem](std::string_view name) { return is_named(stem, name); }) ||
           std::any_of(std::begin(toolkit_prefixes), std::end(toolkit_prefixes),
                       [stem](std::string_view prefix) { return stem.starts_with(prefix); });
}

bool upper_follows(std::string_view name, std::string_view prefix) {
    return name.size() > prefix.size() && name.starts_with(prefix) && name[prefix.size()] >= 'A' &&
           name[prefix.size()] <= 'Z';
}

bool is_of_nvcc(std::string_view name) {
    return std::any_of(std::begin(nvcc_prefixes), std::end(nvcc_prefixes),
                       [name](std::string_view prefix) { return name.starts_with(prefix); });
}

std::string_view without_prefix(std::string_view name, std::string_view prefix) {
    return name.starts_with(prefix) ? name.substr(prefix.size()) : name;
}

} // namespace

LibraryKind library_kind(std::string_view file_name) {
    const std::string stem = stem_of(file_name);
    if (is_named(stem, "cuda") || is_named(stem, "nvcuda")) {
        return LibraryKind::driver;
    }
    if (is_named(stem, "cudart")) {
        return LibraryKind::runtime;
    }
    return is_of_toolkit(stem) ? LibraryKind::toolkit : LibraryKind::other;
}

std::string_view dropin_of(std::string_view file_name) {
    const std::string stem = stem_of(file_name);
    for (const Renamed &name : renamed) {
        if (is_named(stem, name.file)) {
            return name.library;
        }
    }
    for (const std::string_view name : with_dropin) {
        if (is_named(stem, name)) {
            return name;
        }
    }
    return {};
}

const char *kind_word(LibraryKind kind) {
    switch (kind) {
    case LibraryKind::driver:
        return "driver";
    case LibraryKind::runtime:
        return "runtime";
    case LibraryKind::toolkit:
        return "toolkit";
    case LibraryKind::other:
        break;
    }
    return "other";
}

LibraryKind function_kind(std::string_view name) {
    // libcufile defines cuFile*.
    if (upper_follows(name, "cu") && !name.starts_with("cuFile") &&
        name.size() <= longest_function_name) {
        return LibraryKind::driver;
    }
    if ((upper_follows(name, "cuda") || upper_follows(name, "__cuda")) &&
        name.size() <= longest_function_name && !is_of_nvcc(name)) {
        return LibraryKind::runtime;
    }
    return LibraryKind::other;
}

bool is_called_before_main(std::string_view name) {
    return name.starts_with("__cudaRegister");
}

bool is_interop_function(std::string_view name) {
    const LibraryKind kind = function_kind(name);
    if (kind == LibraryKind::other) {
        return false;
    }
    const std::string_view rest = without_prefix(
        without_prefix(name, kind == LibraryKind::driver ? "cu" : "cuda"), "Graphics");
    return std::any_of(std::begin(interop_prefixes), std::end(interop_prefixes),
                       [rest](std::string_view prefix) { return rest.starts_with(prefix); });
}

} // namespace cushim_info
