#include "output.hpp"

#include "json.hpp"

namespace cushim_info {
namespace {

std::string truth(bool value) {
    return value ? "true" : "false";
}

std::string version_or_null(int version) {
    return json_string_or_null(version != 0 ? version_text(version) : "");
}

std::string candidate(const Candidate &tried) {
    return json_object({{"path", json_string(tried.path)},
                        {"outcome", json_string(outcome_word(tried.outcome))},
                        {"detail", json_string(tried.detail)}});
}

const char *state_word(const Library &library, const EntryPoint &entry) {
    if (entry.status == 0) {
        return "resolved";
    }
    if (!library.loaded) {
        return "no_library";
    }
    if (is_unasked(library)) {
        return "not_asked";
    }
    return entry.status == requires_newer_driver ? "requires_newer_driver" : "missing";
}

std::string entry_points(const Library &library, bool with_symbols) {
    std::vector<std::string> missing;
    for (const EntryPoint &entry : library.entry_points) {
        if (entry.status != 0 && !is_unasked(library)) {
            missing.push_back(json_string(entry.name));
        }
    }
    std::vector<JsonMember> members = {{"total", std::to_string(library.entry_points.size())},
                                       {"resolved", std::to_string(resolved_count(library))},
                                       {"asked", truth(!is_unasked(library))},
                                       {"missing", json_array(missing)}};
    if (with_symbols) {
        members.emplace_back(
            "symbols", json_array(library.entry_points, [&library](const EntryPoint &entry) {
                return json_object({{"name", json_string(entry.name)},
                                    {"introduced", version_or_null(entry.introduced)},
                                    {"state", json_string(state_word(library, entry))},
                                    {"status", std::to_string(entry.status)}});
            }));
    }
    return json_object(members);
}

std::string library_object(const Library &library, bool with_symbols, const char *version_key) {
    return json_object({{"state", json_string(library.loaded ? "loaded" : "absent")},
                        {"reason", json_string_or_null(library.loaded ? "" : library.explanation)},
                        {"reason_code", json_string(reason_word(library.reason))},
                        {"path", json_string_or_null(library.path)},
                        {version_key, version_or_null(library.version)},
                        {"candidates", json_array(library.candidates, candidate)},
                        {"entry_points", entry_points(library, with_symbols)},
                        {"left_out", json_array(library.left_out, json_string)},
                        {"unknown_version", json_array(library.unknown_version, json_string)}});
}

std::string device_object(const Device &device) {
    return json_object(
        {{"ordinal", std::to_string(device.ordinal)},
         {"name", json_string_or_null(device.name)},
         {"compute_capability", json_string_or_null(device.compute_capability)},
         {"total_memory", device.total_memory ? std::to_string(*device.total_memory) : "null"},
         {"problem", json_string_or_null(device.problem)}});
}

std::string machine_object(const Surroundings &machine) {
    return json_object(
        {{"container", json_string_or_null(machine.container)},
         {"wsl", truth(machine.wsl)},
         {"kernel_module", json_string_or_null(machine.kernel_module)},
         // An empty value hides every device.
         {"cuda_visible_devices",
          machine.visible_devices ? json_string(*machine.visible_devices) : "null"}});
}

} // namespace

std::string report_as_json(const Info &info, bool with_symbols) {
    const std::string why_not = why_no_usable_device(info);
    std::vector<JsonMember> libraries;
    libraries.reserve(info.further.size());
    for (const Library &library : info.further) {
        libraries.emplace_back(library.name, library_object(library, with_symbols, "version"));
    }
    return json_object(
               {{"cushim", json_string(info.cushim)},
                {"headers", json_object({{"cuda", json_string(version_text(info.headers))}})},
                {"driver", library_object(info.driver, with_symbols, "cuda_version")},
                {"runtime", library_object(info.runtime, with_symbols, "cuda_version")},
                {"libraries", json_object(libraries)},
                {"init_status", info.init ? std::to_string(info.init->status) : "null"},
                {"devices", json_array(info.devices, device_object)},
                {"usable", truth(why_not.empty())},
                {"why_not_usable", json_string_or_null(why_not)},
                {"machine", machine_object(info.surroundings)},
                {"hints", json_array(info.hints, json_string)}}) +
           "\n";
}

} // namespace cushim_info
