// Loads a further library and prints the report, for further_elevated_test.py.
//
// usage: print_further PLACES, a number for cushim_settings::search
#include "further.hpp"

#include <cstdio>
#include <cstdlib>

int main(int count, char **arguments) {
    static constexpr cushim_library_description description =
        further::describe(CUSHIM_PLACE_TOOLKIT | CUSHIM_PLACE_PACKAGES | CUSHIM_PLACE_PROGRAM,
                          CUSHIM_VERSION_NONE, nullptr);
    static constinit cushim_loadable library = further::loadable_of(description);
    const cushim_settings settings = {nullptr, nullptr,
                                      static_cast<unsigned int>(std::atoi(arguments[count - 1]))};
    if (cushim_configure(&settings) != CUSHIM_CONFIGURE_OK) {
        return 1;
    }
    cushim_load(cushim_library_of(&library));
    static char text[65536];
    cushim_report_text(text, sizeof text);
    std::fputs(text, stdout);
}
