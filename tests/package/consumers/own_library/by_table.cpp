// Calls Greeter through its table.
#include "greeter_table.hpp"

#include <cstdio>

int main() {
    std::printf("%s, wave %d\n", cushim::greeter().greeter_text("you"),
                cushim::greeter().greeter_wave(3));
    const cushim_report *report = cushim_load_report(cushim_greeter_library());
    std::printf("%s\n", report->explanation);
    return 0;
}
