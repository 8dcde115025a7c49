// The simulator's settings: the text of CUSHIM_SIM and, after a NUL, of CUDA_VISIBLE_DEVICES.
#include "call/settings.hpp"
#include "call/faults.hpp"
#include "call/kernel_files.hpp"
#include "fuzz.hpp"

#include <algorithm>
#include <set>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
    using namespace std::string_view_literals;
    const auto parts = fuzz::parts(data, size, "\0"sv, 2);
    const auto problem = sim::configure(parts.front());
    fuzz::require(!problem || !problem->empty());
    const sim::Settings &settings = sim::settings();
    const int devices = settings.machine.devices;
    fuzz::require(devices >= 0 && devices <= sim::most_devices && settings.granularity != 0);
    const std::vector<int> places =
        sim::visible_places(settings.machine, parts.back()).value_or(std::vector<int>());
    fuzz::require(std::set<int>(places.begin(), places.end()).size() == places.size());
    for (const int place : places) {
        fuzz::require(place >= 0 && place < devices);
        (void)settings.machine.name(place);
        (void)settings.machine.limit(place);
        (void)settings.machine.capability(place);
        (void)settings.machine.can_access(place, 0);
    }
    sim::settings() = sim::Settings();
    sim::clear_faults();
    sim::clear_kernel_files();
    return 0;
}
