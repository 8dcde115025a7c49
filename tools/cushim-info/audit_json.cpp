#include "audit.hpp"
#include "json.hpp"
#include "model.hpp"

namespace cushim_info {
namespace {

void write_file(JsonWriter &json, const Audit &audit) {
    const Architecture &architecture = audit.architecture;
    json.key("format");
    json.string(architecture.format == Format::elf ? "ELF" : "PE");
    json.key("bits");
    json.number(std::uint64_t{architecture.bits});
    json.key("byte_order");
    json.string(architecture.order == ByteOrder::little ? "little" : "big");
    json.key("machine");
    json.string(machine_text(architecture));
    json.key("program");
    json.boolean(audit.is_program);
}

// The library to link instead.
std::string drop_in_of(const Chain &chain) {
    if (chain.kind != LibraryKind::toolkit) {
        return "cushim-dropin";
    }
    const std::string name(dropin_of(chain.library()));
    return name.empty() ? "" : "cushim-" + name + "-dropin";
}

void write_chains(JsonWriter &json, const std::vector<Chain> &chains) {
    json.begin_array();
    for (const Chain &chain : chains) {
        json.begin_object();
        json.key("library");
        json.string(chain.library());
        json.key("kind");
        json.string(kind_word(chain.kind));
        json.key("chain");
        json.strings(chain.names);
        json.key("used");
        json.boolean(chain.is_used);
        json.key("drop_in");
        json.string_or_null(drop_in_of(chain));
        json.end_object();
    }
    json.end_array();
}

void write_uses(JsonWriter &json, const std::vector<Use> &uses) {
    json.begin_array();
    for (const Use &use : uses) {
        json.begin_object();
        json.key("file");
        json.string(use.file);
        json.key("library");
        json.string_or_null(use.library);
        json.key("at_start");
        json.boolean(use.at_start);
        json.key("optional");
        json.boolean(use.is_optional);
        json.key("functions");
        json.strings(use.functions);
        json.end_object();
    }
    json.end_array();
}

void write_parts(JsonWriter &json, const std::vector<Part> &parts) {
    json.begin_array();
    for (const Part &part : parts) {
        json.begin_object();
        json.key("file");
        json.string(part.file);
        json.key("version");
        json.string_or_null(part.cushim);
        json.key("headers");
        json.string_or_null(part.headers != 0 ? version_text(part.headers) : "");
        json.key("dropin");
        json.boolean(part.has_dropin);
        json.key("libraries");
        json.strings(part.libraries);
        json.end_object();
    }
    json.end_array();
}

void write_not_found(JsonWriter &json, const std::vector<NotFound> &libraries) {
    json.begin_array();
    for (const NotFound &library : libraries) {
        json.begin_object();
        json.key("library");
        json.string(library.library);
        json.key("needed_by");
        json.string(library.needed_by);
        json.key("problem");
        json.string_or_null(library.problem);
        json.end_object();
    }
    json.end_array();
}

void write_findings(JsonWriter &json, const Audit &audit) {
    write_file(json, audit);
    json.key("needs_cuda");
    json.boolean(audit.needs_cuda);
    json.key("needed");
    write_chains(json, audit.needed);
    json.key("delayed");
    write_chains(json, audit.delayed);
    json.key("uses");
    write_uses(json, audit.uses);
    json.key("cushim");
    write_parts(json, audit.parts);
    json.key("own_functions");
    json.strings(audit.own);
    json.key("static_runtime");
    json.string_or_null(audit.static_runtime);
    json.key("not_found");
    write_not_found(json, audit.not_found);
    json.key("of_windows");
    json.strings(audit.of_windows);
    json.key("what_to_do");
    json.strings(audit.advice);
}

} // namespace

std::string audits_as_json(const std::vector<Audit> &audits, const std::string &cushim) {
    JsonWriter json;
    json.begin_object();
    json.key("cushim");
    json.string(cushim);
    json.key("audits");
    json.begin_array();
    for (const Audit &audit : audits) {
        json.begin_object();
        json.key("path");
        json.string(audit.path);
        json.key("problem");
        json.string_or_null(audit.problem);
        if (audit.problem.empty()) {
            write_findings(json, audit);
        }
        json.end_object();
    }
    json.end_array();
    json.end_object();
    return json.take();
}

} // namespace cushim_info
