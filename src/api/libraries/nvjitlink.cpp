#include <cushim/nvjitlink.hpp>

#include <cushim/nvjitlink_entry.hpp>

#include <cstdint>
#include <utility>

#include "base/enum_text.hpp"
#include "base/ranges.hpp"
#include "base/with_memory.hpp"
#include "kernel/loadable_code.hpp"
#include "toolchain.hpp"

namespace cushim {

using namespace detail;

namespace detail {

// The library has no function for them. Numbers: older headers lack some of the names.
template <>
StatusMeaning meaning_of(nvJitLinkResult status) noexcept {
    static constexpr const char *names[] = {
        "NVJITLINK_SUCCESS",
        "NVJITLINK_ERROR_UNRECOGNIZED_OPTION",
        "NVJITLINK_ERROR_MISSING_ARCH",
        "NVJITLINK_ERROR_INVALID_INPUT",
        "NVJITLINK_ERROR_PTX_COMPILE",
        "NVJITLINK_ERROR_NVVM_COMPILE",
        "NVJITLINK_ERROR_INTERNAL",
        "NVJITLINK_ERROR_THREADPOOL",
        "NVJITLINK_ERROR_UNRECOGNIZED_INPUT",
        "NVJITLINK_ERROR_FINALIZE",
        "NVJITLINK_ERROR_NULL_INPUT",
        "NVJITLINK_ERROR_INCOMPATIBLE_OPTIONS",
        "NVJITLINK_ERROR_INCORRECT_INPUT_TYPE",
        "NVJITLINK_ERROR_ARCH_MISMATCH",
        "NVJITLINK_ERROR_OUTDATED_LIBRARY",
        "NVJITLINK_ERROR_MISSING_FATBIN",
        "NVJITLINK_ERROR_UNRECOGNIZED_ARCH",
        "NVJITLINK_ERROR_UNSUPPORTED_ARCH",
        "NVJITLINK_ERROR_LTO_NOT_ENABLED",
    };
    const bool is_known = status > 0 && static_cast<std::size_t>(status) < std::size(names);
    return {is_known ? names[status] : ""};
}

} // namespace detail

namespace {

using Linker = Tool<nvJitLinkHandle, entry::nvJitLinkDestroy>;

// What is linked for what.
struct Job {
    std::span<const LinkInput> inputs;
    const LinkOptions &options;
    Architecture architecture;
};

constexpr nvJitLinkInputType native_type(LinkInputType type) noexcept {
    switch (type) {
    case LinkInputType::any:
        break;
    case LinkInputType::cubin:
        return NVJITLINK_INPUT_CUBIN;
    case LinkInputType::ptx:
        return NVJITLINK_INPUT_PTX;
    case LinkInputType::lto_ir:
        return NVJITLINK_INPUT_LTOIR;
    case LinkInputType::fatbin:
        return NVJITLINK_INPUT_FATBIN;
    case LinkInputType::object:
        return NVJITLINK_INPUT_OBJECT;
    case LinkInputType::archive:
        return NVJITLINK_INPUT_LIBRARY;
    }
    return NVJITLINK_INPUT_ANY;
}

// The bytes of an input in memory.
Result<std::string_view> bytes_of(const LinkInput &input) noexcept {
    CUSHIM_TRY(const std::size_t size, size_of(input.image()));
    return std::string_view(static_cast<const char *>(input.image().data()), size);
}

// An ELF file for GPUs: e_machine is 190.
bool is_cubin(std::string_view bytes) noexcept {
    return bytes.starts_with("\177ELF") && bytes.size() >= 64 && bytes[18] == '\xbe' &&
           bytes[19] == '\0';
}

// An executable (e_type, 2): a link leaves it out without a message.
bool is_executable(std::string_view cubin) noexcept {
    return cubin[16] == '\2' && cubin[17] == '\0';
}

// 90 for a cubin for sm_90; 0 if the file does not have it. In e_flags: since CUDA 13 (version 8 of
// the ABI) the second byte, before that the first one.
int architecture_of(std::string_view cubin) noexcept {
    return static_cast<unsigned char>(cubin[cubin[8] >= 8 ? 49 : 48]);
}

// Devices of Tegra, whose machine code runs on no others.
bool is_integrated(int architecture) noexcept {
    for (const int each : {53, 62, 72, 87, 88}) {
        if (architecture == each) {
            return true;
        }
    }
    return false;
}

// Whether machine code for one architecture runs on devices of the other.
bool is_compatible(int code, int device) noexcept {
    return code == device || (code < device && code / 10 == device / 10 && !is_integrated(code) &&
                              !is_integrated(device));
}

bool is_lto_ir(const LinkInput &input, std::string_view bytes) noexcept {
    return input.type() == LinkInputType::lto_ir || bytes.starts_with("\xed\x43\x4e\x7f");
}

// After nvJitLink has rejected a cubin for another architecture, links of other threads hang.
Result<void> check_cubin(std::string_view cubin, const Architecture &target, const char *name,
                         std::size_t index) noexcept {
    if (is_executable(cubin)) {
        return invalid_argument("input %zu, \"%.100s\", is a cubin that is not relocatable; "
                                "compile it with -rdc=true",
                                index, name);
    }
    const int architecture = architecture_of(cubin);
    if (architecture != 0 && !is_compatible(architecture, target.number())) {
        return invalid_argument("input %zu, \"%.100s\", is a cubin for sm_%d, which cannot "
                                "be linked for %s; compile it for that architecture",
                                index, name, architecture, target.characters);
    }
    return {};
}

Result<void> check_input(const LinkInput &input, const Architecture &target,
                         std::size_t index) noexcept {
    if (input.name() == nullptr) {
        return invalid_argument("the %s of input %zu is null", input.is_file() ? "path" : "name",
                                index);
    }
    if (input.is_file()) {
        return {};
    }
    const Result<std::string_view> bytes = bytes_of(input);
    if (!bytes) {
        return reworded(bytes.error(), "input %zu, \"%.100s\": %.200s", index, input.name(),
                        bytes.error().message());
    }
    return is_cubin(*bytes) ? check_cubin(*bytes, target, input.name(), index) : Result<void>();
}

// The flags that link() adds itself.
Result<void> check_flags(std::span<const char *const> flags) noexcept {
    CUSHIM_TRY_VOID(require_strings(flags, "LinkOptions::flags"));
    for (std::size_t index = 0; index < flags.size(); ++index) {
        const std::string_view flag = flags[index];
        if (flag.starts_with("-arch") || flag == "-lto" || flag == "-ptx") {
            return invalid_argument("LinkOptions::flags[%zu] \"%.40s\": remove it, link() adds it",
                                    index, flags[index]);
        }
    }
    return {};
}

Result<void> check(const Job &job) noexcept {
    if (job.inputs.empty()) {
        return Error::invalid_argument("the list of inputs is empty");
    }
    if (job.options.output != LinkOutput::cubin && job.options.output != LinkOutput::ptx) {
        return invalid_argument("LinkOptions::output is %s, which is not an enumerator",
                                to_text(job.options.output).c_str());
    }
    for (std::size_t index = 0; index < job.inputs.size(); ++index) {
        CUSHIM_TRY_VOID(check_input(job.inputs[index], job.architecture, index));
    }
    return check_flags(job.options.flags);
}

bool has_lto_ir(const Job &job) noexcept {
    for (const LinkInput &input : job.inputs) {
        const std::string_view bytes =
            input.is_file() ? std::string_view() : bytes_of(input).value_or("");
        if (is_lto_ir(input, bytes)) {
            return true;
        }
    }
    return false;
}

Result<void> create(const Job &job, Linker &linker) {
    const bool is_ptx = job.options.output == LinkOutput::ptx;
    const std::string architecture = architecture_flag(job.architecture);
    std::vector<const char *> flags = {architecture.c_str()};
    if (is_ptx || job.options.link_time_optimization || has_lto_ir(job)) {
        flags.push_back("-lto");
    }
    if (is_ptx) {
        flags.push_back("-ptx");
    }
    flags.insert(flags.end(), job.options.flags.begin(), job.options.flags.end());
    return call<entry::nvJitLinkCreate>(&linker.native, static_cast<std::uint32_t>(flags.size()),
                                        flags.data());
}

Result<void> add(const LinkInput &input, nvJitLinkHandle linker) noexcept {
    const nvJitLinkInputType type = native_type(input.type());
    if (input.is_file()) {
        return call<entry::nvJitLinkAddFile>(linker, type, input.name());
    }
    CUSHIM_TRY(const std::string_view bytes, bytes_of(input));
    return call<entry::nvJitLinkAddData>(linker, type, static_cast<const void *>(bytes.data()),
                                         bytes.size(), input.name());
}

// One of the two logs; empty if it cannot be read.
template <class SizeEntry, class BytesEntry>
CodeBytes log_of(const Linker &linker) noexcept {
    if (linker.native == nullptr) {
        return {};
    }
    Result<CodeBytes> text = fetch<SizeEntry, BytesEntry>(linker.native);
    return text ? *static_cast<Result<CodeBytes> &&>(text) : CodeBytes();
}

CodeBytes error_log(const Linker &linker) noexcept {
    return log_of<entry::nvJitLinkGetErrorLogSize, entry::nvJitLinkGetErrorLog>(linker);
}

CodeBytes info_log(const Linker &linker) noexcept {
    return log_of<entry::nvJitLinkGetInfoLogSize, entry::nvJitLinkGetInfoLog>(linker);
}

Result<void> run(const Job &job, Linker &linker) {
    std::string subject = std::string("linking for ") + job.architecture.characters;
    const auto explained = [&](const Error &error) {
        return with_log(error, subject, text_in(error_log(linker)));
    };
    if (const Result<void> created = create(job, linker); !created) {
        return explained(created.error());
    }
    for (const LinkInput &input : job.inputs) {
        if (const Result<void> added = add(input, linker.native); !added) {
            subject += std::string(": input \"") + input.name() + "\"";
            return explained(added.error());
        }
    }
    const Result<void> completed = call<entry::nvJitLinkComplete>(linker.native);
    return completed ? Result<void>() : explained(completed.error());
}

Result<CodeBytes> output_of(LinkOutput output, nvJitLinkHandle linker) noexcept {
    if (output == LinkOutput::cubin) {
        return fetch<entry::nvJitLinkGetLinkedCubinSize, entry::nvJitLinkGetLinkedCubin>(linker);
    }
    return fetch_text<entry::nvJitLinkGetLinkedPtxSize, entry::nvJitLinkGetLinkedPtx>(linker);
}

Result<LinkedCode> link_job(const Job &job, JitLog *log) {
    Linker linker;
    const Result<void> linked = run(job, linker);
    if (log != nullptr) {
        const CodeBytes info = info_log(linker), errors = error_log(linker);
        *log = CodeAccess::log(text_in(info), text_in(errors));
    }
    CUSHIM_TRY_VOID(linked);
    CUSHIM_TRY(CodeBytes code, output_of(job.options.output, linker.native));
    return LinkedCode(job.options.output, std::move(code));
}

Result<LinkedCode> link_for(const Architecture &architecture, std::span<const LinkInput> inputs,
                            const LinkOptions &options, JitLog *log) noexcept {
    const Job job{inputs, options, architecture};
    CUSHIM_TRY_VOID(check(job));
    return with_memory([&] { return link_job(job, log); });
}

} // namespace

Text to_text(LinkInputType type) noexcept {
    using enum LinkInputType;
    return enum_text("LinkInputType", type,
                     {{any, "any"},
                      {cubin, "cubin"},
                      {ptx, "ptx"},
                      {lto_ir, "lto_ir"},
                      {fatbin, "fatbin"},
                      {object, "object"},
                      {archive, "archive"}});
}

Text to_text(LinkOutput output) noexcept {
    using enum LinkOutput;
    return enum_text("LinkOutput", output, {{cubin, "cubin"}, {ptx, "ptx"}});
}

Result<LinkedCode> LinkedCode::link(Device device, std::span<const LinkInput> inputs,
                                    const LinkOptions &options, JitLog *log) noexcept {
    return named("LinkedCode::link", [&]() -> Result<LinkedCode> {
        if (log != nullptr) {
            log->reset();
        }
        CUSHIM_TRY(const int number, architecture_number(device));
        return link_for(Architecture::real(number), inputs, options, log);
    });
}

Result<LinkedCode> LinkedCode::link(const char *architecture, std::span<const LinkInput> inputs,
                                    const LinkOptions &options, JitLog *log) noexcept {
    return named("LinkedCode::link", [&]() -> Result<LinkedCode> {
        if (log != nullptr) {
            log->reset();
        }
        CUSHIM_TRY(const Architecture parsed, Architecture::parse(architecture));
        return link_for(parsed, inputs, options, log);
    });
}

Result<Version> LinkedCode::linker_version() noexcept {
    return named("LinkedCode::linker_version",
                 library_version<entry::nvJitLinkVersion, unsigned int>());
}

} // namespace cushim
