#include "windows_names.hpp"

#include <algorithm>
#include <iterator>

namespace cushim_info {
namespace {

// DLLs that programs commonly link. If a name is missing here, the DLL is only reported as not
// found.
constexpr std::string_view system_names[] = {
    "activeds", "advapi32", "authz",    "avicap32", "avifil32",  "avrt",        "bcrypt",
    "cabinet",  "cfgmgr32", "combase",  "comctl32", "comdlg32",  "credui",      "crypt32",
    "cryptui",  "d2d1",     "d3d10",    "d3d10_1",  "d3d11",     "d3d12",       "d3d9",
    "dbgcore",  "dbghelp",  "dcomp",    "dinput8",  "dnsapi",    "dsound",      "dwmapi",
    "dwrite",   "dxcore",   "dxgi",     "dxva2",    "evr",       "gdi32",       "gdiplus",
    "glu32",    "hid",      "imagehlp", "imm32",    "iphlpapi",  "kernel32",    "kernelbase",
    "ksuser",   "ktmw32",   "mf",       "mfplat",   "mfplay",    "mfreadwrite", "mpr",
    "msacm32",  "mscoree",  "msi",      "msimg32",  "msvcp_win", "msvcrt",      "msvfw32",
    "mswsock",  "ncrypt",   "netapi32", "normaliz", "ntdll",     "ntdsapi",     "odbc32",
    "odbccp32", "ole32",    "oleacc",   "oleaut32", "oledlg",    "opengl32",    "pdh",
    "powrprof", "propsys",  "psapi",    "rpcrt4",   "sechost",   "secur32",     "setupapi",
    "shcore",   "shell32",  "shlwapi",  "tdh",      "ucrtbase",  "ucrtbased",   "urlmon",
    "user32",   "userenv",  "usp10",    "uxtheme",  "version",   "wevtapi",     "windowscodecs",
    "winhttp",  "wininet",  "winmm",    "winscard", "winspool",  "wintrust",    "wlanapi",
    "wldap32",  "ws2_32",   "wsock32",  "wtsapi32", "xaudio2_9", "xinput1_4",   "xinput9_1_0"};

// API sets, which Windows maps to DLLs of its choice.
constexpr std::string_view set_prefixes[] = {"api-ms-win-", "ext-ms-win-"};

// DLLs of Microsoft's compilers; a version follows.
constexpr std::string_view compiler_prefixes[] = {"atl",   "concrt", "d3dcompiler_", "mfc",
                                                  "msvcp", "msvcr",  "vcomp",        "vcruntime"};

bool is_of_compiler(std::string_view stem, std::string_view prefix) {
    return stem.size() > prefix.size() && stem.starts_with(prefix) && stem[prefix.size()] >= '0' &&
           stem[prefix.size()] <= '9';
}

} // namespace

std::string lower_case(std::string_view text) {
    std::string small(text);
    std::transform(small.begin(), small.end(), small.begin(), [](char c) {
        return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    });
    return small;
}

bool is_of_windows(std::string_view file_name) {
    const std::string name = lower_case(file_name);
    if (!name.ends_with(".dll") && !name.ends_with(".drv")) {
        return false;
    }
    const std::string_view stem = std::string_view(name).substr(0, name.size() - 4);
    return std::find(std::begin(system_names), std::end(system_names), stem) !=
               std::end(system_names) ||
           std::any_of(std::begin(set_prefixes), std::end(set_prefixes),
                       [stem](std::string_view prefix) { return stem.starts_with(prefix); }) ||
           std::any_of(std::begin(compiler_prefixes), std::end(compiler_prefixes),
                       [stem](std::string_view prefix) { return is_of_compiler(stem, prefix); });
}

} // namespace cushim_info
