// Makes, uses and destroys every kind of wrapper for a time, on all devices in turn, and measures
// what the process holds: host memory, memory of each device, descriptors and threads, which must
// not grow after a fifth of the time. Exit status 0 if they did not.
//
//     soak [--seconds N] [--use NAME] [--leak allocation|descriptor|host|memory|thread]
//
// The default is two minutes. --use repeats one use; --use list prints the names. --leak leaks in
// each round, device memory on the last device; then exit status 0 means that this leak was found.
#include "soak.hpp"
#include "../harness/device_code.hpp"
#include "../harness/simulator.hpp"
#include "../harness/uses.hpp"

#include <cushim/loader.hpp>
#include <cushim/teardown.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <unistd.h>

using namespace cushim;
using api_test::Use;
using api_test::Workplace;

namespace {

using Clock = std::chrono::steady_clock;

struct Options {
    double seconds = 120;
    std::string_view use; // empty: all; "list": prints the names
    int partner = -1;     // the socket, if this is the other process
    std::string_view leak;
};

// --- what the process holds

struct Figures {
    std::size_t rss = 0;                    // bytes
    std::size_t allocated = 0;              // bytes of it, by operator new
    std::size_t least_allocated = 0;        // the least after a round, since the figures before
    std::size_t most_allocated = 0;         // the most
    std::vector<std::size_t> device_memory; // bytes in use on each device, by all processes
    std::size_t descriptors = 0;
    std::size_t threads = 0;
    unsigned long rounds = 0;
};

std::size_t resident_bytes() {
    std::ifstream file("/proc/self/statm");
    std::size_t all = 0, resident = 0;
    file >> all >> resident;
    return resident * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

std::size_t entries_of(const char *folder) {
    const std::filesystem::directory_iterator all(folder);
    return static_cast<std::size_t>(std::distance(begin(all), end(all)));
}

using Places = std::vector<Workplace>; // one on each device

Result<std::vector<std::size_t>> device_memory_in_use(const Places &places) {
    std::vector<std::size_t> in_use;
    for (const Workplace &place : places) {
        CUSHIM_TRY(const MemoryInfo memory, place.context.memory_info());
        in_use.push_back(memory.total - memory.free);
    }
    return in_use;
}

void keep_least(std::vector<std::size_t> &least, const std::vector<std::size_t> &in_use) {
    for (std::size_t device = 0; device < least.size(); ++device) {
        least[device] = std::min(least[device], in_use[device]);
    }
}

Result<Figures> look(const Places &places, unsigned long rounds) {
    wait_for_released_closures();
    CUSHIM_TRY(auto device_memory, device_memory_in_use(places));
    const std::size_t allocated = gpu_test::live_bytes();
    return Figures{resident_bytes(),
                   allocated,
                   allocated,
                   allocated,
                   std::move(device_memory),
                   entries_of("/proc/self/fd"),
                   entries_of("/proc/self/task"),
                   rounds};
}

void print(double seconds, const Figures &now) {
    constexpr double mebi = 1 << 20;
    std::printf("%8.1f s  %9lu rounds  host %8.1f MiB, %zu bytes by new  devices", seconds,
                now.rounds, static_cast<double>(now.rss) / mebi, now.allocated);
    for (const std::size_t in_use : now.device_memory) {
        std::printf(" %9.1f MiB", static_cast<double>(in_use) / mebi);
    }
    std::printf("  %zu descriptors  %zu threads\n", now.descriptors, now.threads);
    std::fflush(stdout);
}

// --- the uses

std::vector<Use> uses_of_each_round() {
    std::vector<Use> uses = api_test::all_uses();
    uses.push_back(gpu_test::partner_use());
    if (api_test::simulator() == nullptr) {
        std::erase_if(uses, [](const Use &use) {
            return std::string_view(use.name).ends_with("of another API");
        });
        uses.insert(uses.end(), gpu_test::vulkan_uses().begin(), gpu_test::vulkan_uses().end());
    }
    return uses;
}

std::vector<Use> uses_with_names() {
    std::vector<Use> uses = uses_of_each_round();
    uses.push_back(api_test::own_context_use());
    return uses;
}

// All uses of a round, or the one with this name; empty if the name is unknown.
std::vector<Use> wanted_uses(std::string_view name) {
    if (name.empty()) {
        return uses_of_each_round();
    }
    std::vector<Use> uses = uses_with_names();
    std::erase_if(uses, [&](const Use &use) { return use.name != name; });
    return uses;
}

std::string names_of_uses() {
    std::string names;
    for (const Use &use : uses_with_names()) {
        names += std::string(use.name) + '\n';
    }
    return names;
}

unsigned int left_out = 0;

// The other process and Vulkan make their resources on the first device.
bool is_of_first_device(const Use &use) {
    const auto same = [&](const Use &other) { return use.run == other.run; };
    const auto vulkan = gpu_test::vulkan_uses();
    return same(gpu_test::partner_use()) || std::any_of(vulkan.begin(), vulkan.end(), same);
}

// The uses that this device supports. Prints the others.
Result<std::vector<Use>> possible_uses(const Workplace &place, std::string_view wanted) {
    std::vector<Use> possible;
    for (const Use &use : wanted_uses(wanted)) {
        if (place.device.native() != 0 && is_of_first_device(use)) {
            continue;
        }
        const Result<void> used = use.run(place);
        if (used) {
            possible.push_back(use);
        } else if (api_test::is_lack(used.error())) {
            std::printf("SKIPPED: %s: %s\n", use.name, used.error().message());
            ++left_out;
        } else {
            std::printf("%s:\n", use.name);
            return used.error();
        }
    }
    if (possible.empty() && place.device.native() == 0) {
        return Error::invalid_argument("nothing is left to use: all was skipped");
    }
    return possible;
}

std::atomic<unsigned long> teardown_failures = 0;

void count_teardown_failures() {
    set_teardown_sink({[](const TeardownFailure &failure, void *) {
                           ++teardown_failures;
                           std::fprintf(stderr, "destructor: %s returned %d\n", failure.entry_point,
                                        failure.status);
                       },
                       nullptr});
}

class Soak {
  public:
    Soak(const Places &places, const Options &options) : places_(places), options_(options) {}

    // The figures after a fifth of the time, and at the end. Drivers release device memory late,
    // and a cushim thread some host memory: the figures hold the least, and for host memory also
    // the most, during the fifth of the time before. The time starts after the first uses, in which
    // drivers allocate what they keep.
    Result<std::pair<Figures, Figures>> run() {
        for (const Workplace &place : places_) {
            CUSHIM_TRY(auto uses, possible_uses(place, options_.use));
            uses_.push_back(std::move(uses));
        }
        // Created first, since their memory counts, too.
        CUSHIM_TRY(Figures settled, look(places_, rounds_));
        Figures last = settled;
        begin_ = Clock::now();
        CUSHIM_TRY_VOID(run_until(options_.seconds / 5, settled));
        CUSHIM_TRY_VOID(run_until(options_.seconds * 4 / 5, last));
        CUSHIM_TRY_VOID(run_until(options_.seconds, last));
        return std::pair(std::move(settled), std::move(last));
    }

  private:
    // At least a few rounds on each device, however long they take.
    Result<void> run_until(double end, Figures &into) {
        constexpr unsigned long least_rounds = 3;
        std::vector<std::size_t> least(places_.size(), ~std::size_t{0});
        std::size_t least_allocated = ~std::size_t{0}, most_allocated = 0;
        for (unsigned long round = 0; round < least_rounds || seconds() < end; ++round) {
            CUSHIM_TRY_VOID(run_once());
            CUSHIM_TRY(const auto in_use, device_memory_in_use(places_));
            keep_least(least, in_use);
            least_allocated = std::min(least_allocated, gpu_test::live_bytes());
            most_allocated = std::max(most_allocated, gpu_test::live_bytes());
            if (seconds() >= next_line_) {
                next_line_ += 10;
                CUSHIM_TRY(const Figures now, look(places_, rounds_));
                print(seconds(), now);
            }
        }
        // Drivers keep some resources of the last uses; these are the same each time.
        for (const Workplace &place : places_) {
            if (options_.use.empty()) {
                CUSHIM_TRY_VOID(api_test::own_context_use().run(place));
            }
        }
        CUSHIM_TRY_VOID(run_once());
        CUSHIM_TRY(Figures now, look(places_, rounds_));
        keep_least(now.device_memory, least);
        now.least_allocated = std::min(now.allocated, least_allocated);
        now.most_allocated = std::max(now.allocated, most_allocated);
        print(seconds(), now);
        into = now;
        return {};
    }

    // One round: all uses on all devices.
    Result<void> run_once() {
        constexpr unsigned long rarely = 50;
        const bool has_own_context = ++rounds_ % rarely == 0 && options_.use.empty();
        for (std::size_t device = 0; device < places_.size(); ++device) {
            for (const Use &use : uses_[device]) {
                CUSHIM_TRY_VOID(reported(use, places_[device]));
            }
            if (has_own_context) {
                CUSHIM_TRY_VOID(reported(api_test::own_context_use(), places_[device]));
            }
        }
        return gpu_test::leave_behind(options_.leak, places_.back().context);
    }

    Result<void> reported(const Use &use, const Workplace &place) const {
        auto used = use.run(place);
        if (!used) {
            std::printf("%s, on device %d in round %lu:\n", use.name, place.device.native(),
                        rounds_);
        }
        return used;
    }

    double seconds() const { return std::chrono::duration<double>(Clock::now() - begin_).count(); }

    const Places &places_;
    const Options options_;
    std::vector<std::vector<Use>> uses_; // of each device
    Clock::time_point begin_;
    double next_line_ = 0;
    unsigned long rounds_ = 0;
};

// --- the verdict

std::vector<std::string> findings;

void require(bool holds, const std::string &otherwise) {
    if (!holds) {
        findings.push_back(otherwise);
    }
}

bool is_as_wanted(std::string_view leak) {
    if (leak.empty()) {
        return findings.empty();
    }
    // In a short run drivers may change what they hold, which can be a finding, too.
    return std::any_of(findings.begin(), findings.end(), [&](const std::string &finding) {
        return finding.starts_with(gpu_test::finding_of_leak(leak));
    });
}

void require_equal(const char *what, std::size_t settled, std::size_t last) {
    require(settled == last, std::string(what) + " were " + std::to_string(settled) + ", and are " +
                                 std::to_string(last));
}

void judge(const Figures &settled, const Figures &last) {
    const std::size_t spread = api_test::simulator() != nullptr ? 0 : 32u << 20; // of the minimum
    for (std::size_t device = 0; device < last.device_memory.size(); ++device) {
        const std::size_t before = settled.device_memory[device];
        const std::size_t now = last.device_memory[device];
        require(now <= before + spread, "bytes of device " + std::to_string(device) +
                                            " in use were " + std::to_string(before) +
                                            ", and are " + std::to_string(now));
    }
    require_equal("open descriptors", settled.descriptors, last.descriptors);
    require_equal("threads", settled.threads, last.threads);
    // The simulator records freed objects to report later uses of them.
    require(api_test::simulator() != nullptr || last.least_allocated <= settled.most_allocated,
            "bytes by operator new were at most " + std::to_string(settled.most_allocated) +
                ", and are at least " + std::to_string(last.least_allocated));
    // Besides the bytes of operator new, which are exact, drivers allocate memory that they keep.
    // Driver 580 keeps some for each context.
    constexpr std::size_t drivers_own = 4 << 10;
    const std::size_t uses = (last.rounds - settled.rounds) * last.device_memory.size();
    const std::size_t allowed = settled.rss + (2u << 20) + settled.rss / 100 + drivers_own * uses;
    require(api_test::simulator() != nullptr || last.rss <= allowed,
            "host memory has grown from " + std::to_string(settled.rss) + " to " +
                std::to_string(last.rss) + " bytes");
    require(teardown_failures == 0, "destructors have failed");
}

void judge_simulator() {
    for (const std::string &line : api_test::leaks()) {
        require(false, "left behind: " + line);
    }
    for (const std::string &line : api_test::misuses()) {
        require(false, "misused: " + line);
    }
}

Result<void> soak(const Options &options) {
    CUSHIM_TRY(const int count, Device::count());
    CUSHIM_TRY(const Device first, Device::get(0));
    CUSHIM_TRY(const auto name, first.name());
    std::printf("%d devices, the first %s, driver %d, %.0f s\n", count, name.c_str(),
                driver_version().packed(), options.seconds);
    {
        Places places;
        for (int ordinal = 0; ordinal < count; ++ordinal) {
            CUSHIM_TRY(const Device device, Device::get(ordinal));
            CUSHIM_TRY(Workplace place, Workplace::on(device));
            places.push_back(std::move(place));
        }
        gpu_test::await_partner();
        CUSHIM_TRY(const auto figures, Soak(places, options).run());
        judge(figures.first, figures.second);
    }
    gpu_test::close_vulkan();
    require(gpu_test::end_partner(), "the other process has failed");
    judge_simulator();
    return {};
}

std::optional<Options> parse(int argc, char **argv) {
    Options options;
    for (int index = 1; index + 1 < argc; index += 2) {
        const std::string_view name = argv[index], value = argv[index + 1];
        if (name == "--seconds") {
            options.seconds = std::atof(argv[index + 1]);
        } else if (name == "--use") {
            options.use = value;
        } else if (name == "--partner") {
            options.partner = std::atoi(argv[index + 1]);
        } else if (name == "--leak" && gpu_test::finding_of_leak(value) != nullptr) {
            options.leak = value;
        } else {
            return std::nullopt;
        }
    }
    const bool paired = argc % 2 == 1;
    return paired && options.seconds > 0 ? std::optional(options) : std::nullopt;
}

} // namespace

int main(int argc, char **argv) {
    const std::optional<Options> options = parse(argc, argv);
    if (!options) {
        std::fprintf(stderr, "usage: %s [--seconds N] [--use NAME] [--leak %s]\n", argv[0],
                     gpu_test::names_of_leaks().c_str());
        return 2;
    }
    if (options->partner >= 0) {
        return gpu_test::be_partner(options->partner);
    }
    if (options->use == "list") {
        std::printf("%s", names_of_uses().c_str());
        return 0;
    }
    if (wanted_uses(options->use).empty()) {
        std::fprintf(stderr, "no use has this name; the names are:\n%s", names_of_uses().c_str());
        return 2;
    }
    count_teardown_failures();
    api_test::register_kernels();
    require(gpu_test::start_partner(), "another process was not started");
    const Result<void> done = soak(*options);
    require(done.has_value(), done ? "" : done.error().message());
    const bool good = is_as_wanted(options->leak);
    for (const std::string &finding : findings) {
        std::printf("%s%s\n", good ? "as wanted: " : "FAILED: ", finding.c_str());
    }
    std::puts(findings.empty() ? "flat" : "not flat");
    std::printf("%u passed, %u failed, %u skipped\n", good ? 1u : 0u, good ? 0u : 1u, left_out);
    return good ? 0 : 1;
}
