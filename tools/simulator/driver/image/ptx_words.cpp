#include "image/ptx_words.hpp"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <iterator>

namespace sim::ptx {
namespace {

// The instructions of PTX 9.0, without their modifiers, in order.
constexpr std::string_view instructions[] = {
    "abs",          "activemask",    "add",       "addc",       "alloca",
    "and",          "applypriority", "atom",      "bar",        "barrier",
    "bfe",          "bfi",           "bfind",     "bmsk",       "bra",
    "brev",         "brkpt",         "brx",       "call",       "clusterlaunchcontrol",
    "clz",          "cnot",          "copysign",  "cos",        "cp",
    "createpolicy", "cvt",           "cvta",      "discard",    "div",
    "dp2a",         "dp4a",          "elect",     "ex2",        "exit",
    "fence",        "fma",           "fns",       "getctarank", "griddepcontrol",
    "isspacep",     "istypep",       "ld",        "ldmatrix",   "ldu",
    "lg2",          "lop3",          "mad",       "mad24",      "madc",
    "mapa",         "match",         "max",       "mbarrier",   "membar",
    "min",          "mma",           "mov",       "movmatrix",  "mul",
    "mul24",        "multimem",      "nanosleep", "neg",        "not",
    "or",           "pmevent",       "popc",      "prefetch",   "prefetchu",
    "prmt",         "rcp",           "red",       "redux",      "rem",
    "ret",          "rsqrt",         "sad",       "selp",       "set",
    "setmaxnreg",   "setp",          "shf",       "shfl",       "shl",
    "shr",          "sin",           "slct",      "sqrt",       "st",
    "stackrestore", "stacksave",     "stmatrix",  "sub",        "subc",
    "suld",         "suq",           "sured",     "sust",       "szext",
    "tanh",         "tcgen05",       "tensormap", "testp",      "tex",
    "tld4",         "trap",          "txq",       "vabsdiff",   "vabsdiff2",
    "vabsdiff4",    "vadd",          "vadd2",     "vadd4",      "vavrg2",
    "vavrg4",       "vmad",          "vmax",      "vmax2",      "vmax4",
    "vmin",         "vmin2",         "vmin4",     "vote",       "vset",
    "vset2",        "vset4",         "vshl",      "vshr",       "vsub",
    "vsub2",        "vsub4",         "wgmma",     "wmma",       "xor",
};

} // namespace

int newest_ptx(int cuda) {
    const int major = cuda / 1000, minor = cuda % 1000 / 10;
    if (major >= 13) {
        return (major - 4) * 10 + minor;
    }
    if (major == 12) {
        return 80 + (minor <= 5 ? minor : minor - 1);
    }
    return 70 + minor;
}

std::size_t size_of_type(std::string_view type) {
    static constexpr struct {
        std::string_view name;
        std::size_t size;
    } odd[] = {{".f16x2", 4},  {".bf16x2", 4},     {".bf16", 2},   {".tf32", 4},
               {".pred", 1},   {".b128", 16},      {".e4m3", 1},   {".e5m2", 1},
               {".texref", 8}, {".samplerref", 8}, {".surfref", 8}};
    for (const auto &[name, size] : odd) {
        if (type == name) {
            return size;
        }
    }
    if (type.size() < 3 || std::strchr("busf", type[1]) == nullptr) {
        return 0;
    }
    int bits = 0;
    const auto [end, error] = std::from_chars(type.data() + 2, type.data() + type.size(), bits);
    const bool whole = error == std::errc() && end == type.data() + type.size();
    return whole && (bits == 8 || bits == 16 || bits == 32 || bits == 64)
               ? static_cast<std::size_t>(bits / 8)
               : 0;
}

bool is_instruction(std::string_view word) {
    const std::string_view stem = word.substr(0, word.find('.'));
    return std::binary_search(std::begin(instructions), std::end(instructions), stem);
}

} // namespace sim::ptx
