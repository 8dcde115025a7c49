// A plugin that has used a further library stays loaded: its loader, or one that it shares with the
// program, refers to its description.
//
// usage: further_unload PLUGIN
#include <cushim/loader.h>

#include "../support/expect.h"

#include <dlfcn.h>

int main(int, char **arguments) {
    void *plugin = dlopen(arguments[1], RTLD_NOW | RTLD_LOCAL);
    EXPECT(plugin != nullptr);
    if (plugin == nullptr) {
        return finish();
    }
    const auto add = reinterpret_cast<int (*)(int, int)>(dlsym(plugin, "plugin_add"));
    EXPECT_INT(add(2, 3), 5);
    dlclose(plugin);
    EXPECT(dlopen(arguments[1], RTLD_NOW | RTLD_NOLOAD) != nullptr);
    EXPECT_INT(add(4, 5), 9);
    EXPECT(cushim_report_text(nullptr, 0) > 0);
    return finish();
}
