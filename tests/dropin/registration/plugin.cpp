// A plugin with device code. Registers it when the plugin is loaded and unregisters it when the
// plugin is unloaded or the process ends.
#include "compiled_code.hpp"
#include "exported.hpp"

#include <cstdlib>

namespace {

void **own;

__attribute__((constructor)) void register_own() {
    own = register_one(0x500, "plugin");
    // In a shared library this runs when it is unloaded.
    std::atexit([] { __cudaUnregisterFatBinary(own); });
}

} // namespace

EXPORTED int plugin_use() {
    return cudaDeviceSynchronize() == cudaSuccess ? 0 : 1;
}
