#include "static_runtime.hpp"

#include <algorithm>
#include <string_view>
#include <vector>

namespace cushim_info {
namespace {

// Texts that the file contains between NULs. Composed at run time, so that this program does not
// contain them itself.
std::string text_of(char first, std::string_view rest) {
    std::string text(1, '\0');
    text += first;
    text += rest;
    return text;
}

struct Signs {
    // The profiler table of every libcudart from 11 to 13 has names of functions that were removed
    // from CUDA long ago. No header declares them, so other files do not contain them.
    std::string removed_function = text_of('c', std::string_view("udaD3D9UnmapVertexBuffer\0", 25));
    // It opens the driver by name.
    std::string driver = text_of('l', std::string_view("ibcuda.so.1\0", 12));
    std::string windows_driver = text_of('n', std::string_view("vcuda.dll\0", 10));
    // Its internal functions have this prefix if the file is not stripped.
    std::string symbol = text_of('l', "ibcudart_static_");
};

} // namespace

std::string signs_of_static_runtime(Source &source) {
    constexpr std::uint64_t step = 1 << 20, overlap = 64;
    const Signs signs;
    bool removed_function = false, driver = false, symbol = false;
    for (std::uint64_t at = 0; at < source.size() && !symbol; at += step) {
        const std::string piece = source.read_some(at, step + overlap);
        const auto has = [&piece](const std::string &sign) {
            return std::string_view(piece).find(sign) != std::string_view::npos;
        };
        symbol = has(signs.symbol);
        removed_function = removed_function || has(signs.removed_function);
        driver = driver || has(signs.driver) || has(signs.windows_driver);
    }
    if (symbol) {
        return "the file has symbols of that library";
    }
    return removed_function && driver
               ? "the file contains its table of function names and the driver's name"
               : "";
}

} // namespace cushim_info
