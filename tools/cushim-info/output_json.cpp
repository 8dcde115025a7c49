#include "output.hpp"

#include "json.hpp"

namespace cushim_info {
namespace {

void version_or_null(JsonWriter &json, int version) {
    json.string_or_null(version != 0 ? version_text(version) : "");
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
    if (is_unasked(library)) {
        return "not_asked";
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
    json.key("asked");
    json.boolean(!is_unasked(library));
    json.key("missing");
    json.begin_array();
    for (const EntryPoint &entry : library.entry_points) {
        if (entry.status != 0 && !is_unasked(library)) {
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

void write_library(JsonWriter &json, const Library &library, bool with_symbols,
                   const char *version_key) {
    json.begin_object();
    json.key("state");
    json.string(library.loaded ? "loaded" : "absent");
    json.key("reason");
    json.string_or_null(library.loaded ? "" : library.explanation);
    json.key("reason_code");
    json.string(reason_word(library.reason));
    json.key("path");
    json.string_or_null(library.path);
    json.key(version_key);
    version_or_null(json, library.version);
    json.key("candidates");
    write_candidates(json, library);
    json.key("entry_points");
    write_entry_points(json, library, with_symbols);
    json.key("left_out");
    json.strings(library.left_out);
    json.key("unknown_version");
    json.strings(library.unknown_version);
    json.end_object();
}

void write_device(JsonWriter &json, const Device &device) {
    json.begin_object();
    json.key("ordinal");
    json.number(std::int64_t{device.ordinal});
    json.key("name");
    json.string_or_null(device.name);
    json.key("compute_capability");
    json.string_or_null(device.compute_capability);
    json.key("total_memory");
    if (device.total_memory) {
        json.number(*device.total_memory);
    } else {
        json.null();
    }
    json.key("problem");
    json.string_or_null(device.problem);
    json.end_object();
}

void write_machine(JsonWriter &json, const Surroundings &machine) {
    json.begin_object();
    json.key("container");
    json.string_or_null(machine.container);
    json.key("wsl");
    json.boolean(machine.wsl);
    json.key("kernel_module");
    json.string_or_null(machine.kernel_module);
    json.key("cuda_visible_devices");
    if (machine.visible_devices) {
        json.string(*machine.visible_devices); // an empty value hides every device
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
    write_library(json, info.driver, with_symbols, "cuda_version");
    json.key("runtime");
    write_library(json, info.runtime, with_symbols, "cuda_version");
    json.key("libraries");
    json.begin_object();
    for (const Library &library : info.further) {
        json.key(library.name);
        write_library(json, library, with_symbols, "version");
    }
    json.end_object();
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
    json.string_or_null(why_not);
    json.key("machine");
    write_machine(json, info.surroundings);
    json.key("hints");
    json.strings(info.hints);
    json.end_object();
    return json.take();
}

} // namespace cushim_info
