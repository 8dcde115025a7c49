#include "static_runtime.hpp"

#include <algorithm>
#include <string_view>
#include <vector>

namespace cushim_info {
namespace {

// Texts as they stand in a file, between NULs. Put together at run time: this program must not
// contain them itself.
std::string text_of(char first, std::string_view rest) {
    std::string text(1, '\0');
    text += first;
    text += rest;
    return text;
}

struct Signs {
    // Every libcudart from 11 to 13 has the names of functions that were taken out of CUDA long
    // ago, in its table for profilers. No header has them any more, so that nobody else does.
    std::string removed_function = text_of('c', std::string_view("udaD3D9UnmapVertexBuffer\0", 25));
    // It asks for the driver by name.
    std::string driver = text_of('l', std::string_view("ibcuda.so.1\0", 12));
    std::string windows_driver = text_of('n', std::string_view("vcuda.dll\0", 10));
    // Its own functions are named like this where the file is not stripped.
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
        return "there are symbols of its name";
    }
    return removed_function && driver
               ? "its table of function names is there, and the driver's name"
               : "";
}

} // namespace cushim_info
