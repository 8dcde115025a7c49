#ifdef _WIN32
#include "../../cushim_sim.h"
#include "runtime/base/platform.hpp"

#define WIN32_LEAN_AND_MEAN
#include <windows.h>

#include <string>

namespace sim::runtime::platform {
namespace {

constexpr const wchar_t *driver_file = L"nvcuda.dll";

HMODULE if_simulated(HMODULE library) noexcept {
    return library != nullptr && GetProcAddress(library, CUSHIM_SIM_CONTROL) != nullptr ? library
                                                                                        : nullptr;
}

std::wstring own_folder() {
    HMODULE self = nullptr;
    if (!GetModuleHandleExW(GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS |
                                GET_MODULE_HANDLE_EX_FLAG_UNCHANGED_REFCOUNT,
                            reinterpret_cast<LPCWSTR>(&find_driver), &self)) {
        return L"";
    }
    std::wstring path(32768, L'\0');
    path.resize(GetModuleFileNameW(self, path.data(), static_cast<DWORD>(path.size())));
    return path.substr(0, path.find_last_of(L"\\/") + 1);
}

} // namespace

void *find_driver() noexcept try {
    HMODULE loaded = nullptr;
    if (GetModuleHandleExW(0, driver_file, &loaded) && if_simulated(loaded)) {
        return loaded;
    }
    const std::wstring folder = own_folder();
    return folder.empty() ? nullptr
                          : if_simulated(LoadLibraryExW((folder + driver_file).c_str(), nullptr,
                                                        LOAD_WITH_ALTERED_SEARCH_PATH));
} catch (...) {
    return nullptr;
}

void *find_function(void *library, const char *name) noexcept {
    return reinterpret_cast<void *>(GetProcAddress(static_cast<HMODULE>(library), name));
}

void around_fork(void (*)(), void (*)(), void (*)()) noexcept {}

void stay_loaded() noexcept {
    HMODULE self = nullptr;
    (void)GetModuleHandleExW(GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS | GET_MODULE_HANDLE_EX_FLAG_PIN,
                             reinterpret_cast<LPCWSTR>(&find_driver), &self);
}

} // namespace sim::runtime::platform
#endif
