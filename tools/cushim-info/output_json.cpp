#include "output.hpp"

#include "json.hpp"

namespace cushim_info {
namespace {

void string_or_null(JsonWriter &json, std::string_view value) {
    if (value.empty()) {
        json.null();
    } else {
        json.string(value);
    }
}

void version_or_null(JsonWriter &json, int version) {
    string_or_null(json, version != 0 ? version_text(version) : "");
}

void write_strings(JsonWriter &json, const std::vector<std::string> &values) {
    json.begin_array();
    for (const std::string &value : values) {
        json.string(value);
    }
    json.end_array();
}

void write_candidates(JsonWriter &json, const Library &library) {
    json.begin_array();
    for (const Candidate &candidate : library.candidates) {
        json.begin_object();
        json.key("path");
        json.string(candidate.path);
        json.key("outcome");
        json.string(outcome_word(candidate.outcome));
        json.key("detail");
        json.string(candidate.detail);
        json.end_object();
    }
    json.end_array();
}

const char *state_word(const Library &library, const EntryPoint &entry) {
    if (entry.status == 0) {
        return "resolved";
    }
    if (!library.loaded) {
        return "no_library";
    }
    return entry.status == requires_newer_driver ? "requires_newer_driver" : "missing";
}

void write_symbols(JsonWriter &json, const Library &library) {
    json.begin_array();
    for (const EntryPoint &entry : library.entry_points) {
        json.begin_object();
        json.key("name");
        json.string(entry.name);
        json.key("introduced");
        version_or_null(json, entry.introduced);
        json.key("state");
        json.string(state_word(library, entry));
        json.key("status");
        json.number(std::int64_t{entry.status});
        json.end_object();
    }
    json.end_array();
}

void write_entry_points(JsonWriter &json, const Library &library, bool with_symbols) {
    json.begin_object();
    json.key("total");
    json.number(std::uint64_t{library.entry_points.size()});
    json.key("resolved");
    json.number(std::uint64_t{resolved_count(library)});
    json.key("missing");
    json.begin_array();
    for (const EntryPoint &entry : library.entry_points) {
        if (entry.status != 0) {
            json.string(entry.name);
        }
    }
    json.end_array();
    if (with_symbols) {
        json.key("symbols");
        write_symbols(json, library);
    }
    json.end_object();
}

void write_library(JsonWriter &json, const Library &library, bool with_symbols) {
    json.begin_object();
    json.key("state");
    json.string(library.loaded ? "loaded" : "absent");
    json.key("reason");
    string_or_null(json, library.loaded ? "" : library.explanation);
    json.key("reason_code");
    json.string(reason_word(library.reason));
    json.key("path");
    string_or_null(json, library.path);
    json.key("cuda_version");
    version_or_null(json, library.version);
    json.key("candidates");
    write_candidates(json, library);
    json.key("entry_points");
    write_entry_points(json, library, with_symbols);
    json.key("left_out");
    write_strings(json, library.left_out);
    json.end_object();
}

void write_device(JsonWriter &json, const Device &device) {
    json.begin_object();
    json.key("ordinal");
    json.number(std::int64_t{device.ordinal});
    json.key("name");
    string_or_null(json, device.name);
    json.key("compute_capability");
    string_or_null(json, device.compute_capability);
    json.key("total_memory");
    if (device.total_memory) {
        json.number(*device.total_memory);
    } else {
        json.null();
    }
    json.key("problem");
    string_or_null(json, device.problem);
    json.end_object();
}

void write_machine(JsonWriter &json, const Surroundings &machine) {
    json.begin_object();
    json.key("container");
    string_or_null(json, machine.container);
    json.key("wsl");
    json.boolean(machine.wsl);
    json.key("kernel_module");
    string_or_null(json, machine.kernel_module);
    json.key("cuda_visible_devices");
    if (machine.visible_devices) {
        json.string(*machine.visible_devices); // set but empty hides every device
    } else {
        json.null();
    }
    json.end_object();
}

} // namespace

std::string report_as_json(const Info &info, bool with_symbols) {
    const std::string why_not = why_no_usable_device(info);
    JsonWriter json;
    json.begin_object();
    json.key("cushim");
    json.string(info.cushim);
    json.key("headers");
    json.begin_object();
    json.key("cuda");
    json.string(version_text(info.headers));
    json.end_object();
    json.key("driver");
    write_library(json, info.driver, with_symbols);
    json.key("runtime");
    write_library(json, info.runtime, with_symbols);
    json.key("init_status");
    if (info.init) {
        json.number(std::int64_t{info.init->status});
    } else {
        json.null();
    }
    json.key("devices");
    json.begin_array();
    for (const Device &device : info.devices) {
        write_device(json, device);
    }
    json.end_array();
    json.key("usable");
    json.boolean(why_not.empty());
    json.key("why_not_usable");
    string_or_null(json, why_not);
    json.key("machine");
    write_machine(json, info.surroundings);
    json.key("hints");
    write_strings(json, info.hints);
    json.end_object();
    return json.take();
}

} // namespace cushim_info
