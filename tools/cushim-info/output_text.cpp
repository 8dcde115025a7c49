#include "output.hpp"

#include <algorithm>
#include <cstdio>
#include <string_view>

#include "lines.hpp"

namespace cushim_info {
namespace {

std::string version_or_unknown(int version) {
    return version != 0 ? version_text(version) : "unknown";
}

std::string entry_point_summary(const Library &library) {
    const std::size_t total = library.entry_points.size();
    if (is_unasked(library)) {
        return std::to_string(total) + ", not queried: the runtime is not used without a driver";
    }
    const std::size_t resolved = resolved_count(library);
    std::string text = std::to_string(resolved) + " of " + std::to_string(total) + " resolve";
    if (!library.loaded || resolved == total) {
        return text;
    }
    const auto newer = std::count_if(
        library.entry_points.begin(), library.entry_points.end(),
        [](const EntryPoint &entry) { return entry.status == requires_newer_driver; });
    text += ", " + std::to_string(total - resolved) + " missing";
    if (newer > 0) {
        text += " (" + std::to_string(newer) +
                (newer == 1 ? " requires a newer driver)" : " require a newer driver)");
    }
    return text;
}

void add_candidates(std::string &out, const Library &library) {
    std::string_view label = "tried";
    for (const Candidate &candidate : library.candidates) {
        std::string outcome = outcome_word(candidate.outcome);
        std::replace(outcome.begin(), outcome.end(), '_', ' ');
        std::string line = candidate.path + ": " + outcome;
        if (!candidate.detail.empty() && candidate.detail != outcome) {
            line += " (" + candidate.detail + ")";
        }
        add_line(out, label, line);
        label = "";
    }
}

void add_library(std::string &out, std::string_view name, std::string_view version,
                 const Library &library) {
    out.append(name).append(library.loaded ? ": loaded\n" : ": absent\n");
    if (library.loaded) {
        add_line(out, "library", library.path);
        add_line(out, version, version_or_unknown(library.version));
    } else {
        add_line(out, "reason", library.explanation);
    }
    add_candidates(out, library);
    add_line(out, "entry points", entry_point_summary(library));
    if (!library.left_out.empty()) {
        add_line(out, "left out",
                 std::to_string(library.left_out.size()) +
                     (library.left_out.size() == 1 ? " declaration" : " declarations") +
                     " of the headers that the tables lack:");
        for (const std::string &declaration : library.left_out) {
            add_line(out, "", declaration);
        }
    }
    if (!library.unknown_version.empty()) {
        add_line(out, "no version",
                 "the headers are newer than the CUDA releases that cushim knows, " +
                     std::to_string(library.unknown_version.size()) +
                     (library.unknown_version.size() == 1 ? " entry point in all:"
                                                          : " entry points in all:"));
        for (const std::string &name : library.unknown_version) {
            add_line(out, "", name);
        }
    }
}

std::string gibibytes(std::uint64_t bytes) {
    char text[64];
    std::snprintf(text, sizeof text, "%.1f GiB",
                  static_cast<double>(bytes) / (1024.0 * 1024.0 * 1024.0));
    return text;
}

void add_device(std::string &out, const Device &device) {
    std::string text = device.name.empty() ? "(no name)" : device.name;
    if (!device.compute_capability.empty()) {
        text += ", compute capability " + device.compute_capability;
    }
    if (device.total_memory) {
        text += ", " + gibibytes(*device.total_memory);
    }
    out.append("  ").append(std::to_string(device.ordinal)).append("  ");
    out.append(printable(text)).append("\n");
    if (!device.problem.empty()) {
        out.append("     not usable: ").append(printable(device.problem)).append("\n");
    }
}

void add_devices(std::string &out, const Info &info) {
    if (info.devices.empty()) {
        const std::string reason =
            info.driver.loaded ? why_no_usable_device(info) : "no driver is loaded";
        out.append("devices: none, ").append(printable(reason)).append("\n");
        return;
    }
    out.append("devices: ").append(std::to_string(info.devices.size())).append("\n");
    for (const Device &device : info.devices) {
        add_device(out, device);
    }
}

std::string machine_summary(const Surroundings &machine) {
    std::string text;
    const auto add = [&text](const std::string &part) {
        text += (text.empty() ? "" : ", ") + part;
    };
    if (machine.wsl) {
        add("WSL");
    }
    if (!machine.container.empty()) {
        add(machine.container == "container" ? "container" : machine.container + " container");
    }
    if (!machine.kernel_module.empty()) {
        add("NVIDIA kernel module " + machine.kernel_module);
    }
    if (machine.visible_devices) {
        add("CUDA_VISIBLE_DEVICES='" + *machine.visible_devices + "'");
    }
    return text;
}

std::string state_text(const Library &library, const EntryPoint &entry) {
    if (entry.status == 0) {
        return "resolved";
    }
    if (!library.loaded) {
        return "no library";
    }
    if (is_unasked(library)) {
        return "not queried";
    }
    if (entry.status == requires_newer_driver) {
        return "needs CUDA " + version_text(entry.introduced);
    }
    return "missing";
}

void add_symbols(std::string &out, std::string_view label, const Library &library,
                 std::size_t name_width) {
    for (const EntryPoint &entry : library.entry_points) {
        const std::string introduced = entry.introduced ? version_text(entry.introduced) : "-";
        out.append(label).append("  ");
        out.append(entry.name).append(name_width - entry.name.size() + 2, ' ');
        out.append(introduced).append(7 - std::min<std::size_t>(introduced.size(), 6), ' ');
        out.append(state_text(library, entry)).append("\n");
    }
}

std::size_t longest_name(const Library &library) {
    std::size_t longest = 0;
    for (const EntryPoint &entry : library.entry_points) {
        longest = std::max(longest, entry.name.size());
    }
    return longest;
}

} // namespace

std::string report_as_text(const Info &info) {
    std::string out = "cushim " + info.cushim + ", built with the headers of CUDA " +
                      version_text(info.headers) + "\n";
    if (const std::string machine = machine_summary(info.surroundings); !machine.empty()) {
        out.append("machine: ").append(printable(machine)).append("\n");
    }
    out += "\n";
    add_library(out, "driver", "CUDA version", info.driver);
    out += "\n";
    add_library(out, "runtime", "CUDA version", info.runtime);
    out += "\n";
    for (const Library &library : info.further) {
        add_library(out, library.title, "version", library);
        out += "\n";
    }
    add_devices(out, info);
    if (!info.hints.empty()) {
        out += "\nhints:\n";
        for (const std::string &hint : info.hints) {
            add_item(out, hint);
        }
    }
    return out;
}

std::string symbols_as_text(const Info &info) {
    struct Labelled {
        std::string label;
        const Library *library;
    };
    std::vector<Labelled> all = {{"driver", &info.driver}, {"runtime", &info.runtime}};
    for (const Library &library : info.further) {
        all.push_back({library.name, &library});
    }
    std::size_t name_width = 0, label_width = 0;
    for (const auto &[label, library] : all) {
        name_width = std::max(name_width, longest_name(*library));
        label_width = std::max(label_width, label.size());
    }
    std::string out;
    for (auto &[label, library] : all) {
        label.resize(label_width, ' ');
        add_symbols(out, label, *library, name_width);
    }
    return out;
}

} // namespace cushim_info
