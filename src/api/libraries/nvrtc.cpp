#include <cushim/nvrtc.hpp>

#include <cushim/nvrtc_entry.hpp>

#include <cstdio>
#include <utility>

#include "base/enum_text.hpp"
#include "base/ranges.hpp"
#include "base/with_memory.hpp"
#include "toolchain.hpp"

namespace cushim {

using namespace detail;

namespace detail {

template <>
StatusMeaning meaning_of(nvrtcResult status) noexcept {
    return {nvrtc().nvrtcGetErrorString(status),
            status == NVRTC_ERROR_OUT_OF_MEMORY ? ErrorKind::out_of_memory : ErrorKind::status};
}

} // namespace detail

namespace {

using Program = Tool<nvrtcProgram, entry::nvrtcDestroyProgram>;

// What is compiled for what.
struct Job {
    const char *source;
    const CompileOptions &options;
    Architecture architecture;
    CompileOutput output; // after choose() not `loadable`
};

Result<void> check(const char *source, const CompileOptions &options) noexcept {
    if (source == nullptr) {
        return Error::invalid_argument("the source is null");
    }
    if (options.name == nullptr) {
        return Error::invalid_argument("CompileOptions::name is null");
    }
    if (options.output > CompileOutput::lto_ir) {
        return invalid_argument("CompileOptions::output is %s, which is not an enumerator",
                                to_text(options.output).c_str());
    }
    CUSHIM_TRY_VOID(require_strings(options.flags, "CompileOptions::flags"));
    CUSHIM_TRY_VOID(require_strings(options.name_expressions, "CompileOptions::name_expressions"));
    for (std::size_t index = 0; index < options.headers.size(); ++index) {
        const SourceHeader &header = options.headers[index];
        if (header.name == nullptr || header.text == nullptr) {
            return invalid_argument("CompileOptions::headers[%zu] has no %s", index,
                                    header.name == nullptr ? "name" : "text");
        }
    }
    return {};
}

Result<void> create(const Job &job, Program &program) {
    std::vector<const char *> texts, names;
    for (const SourceHeader &header : job.options.headers) {
        texts.push_back(header.text);
        names.push_back(header.name);
    }
    CUSHIM_TRY_VOID(call<entry::nvrtcCreateProgram>(&program.native, job.source, job.options.name,
                                                    static_cast<int>(texts.size()), texts.data(),
                                                    names.data()));
    for (const char *const name : job.options.name_expressions) {
        const Result<void> added = call<entry::nvrtcAddNameExpression>(program.native, name);
        if (!added) {
            return explained(added.error(), "name expression \"%.250s\" of %.100s", name,
                             job.options.name);
        }
    }
    return {};
}

Result<CodeBytes> log_of(const Program &program) noexcept {
    return fetch<entry::nvrtcGetProgramLogSize, entry::nvrtcGetProgramLog>(program.native);
}

std::string subject_of(const Job &job) {
    return std::string(job.options.name) + " for " + job.architecture.characters;
}

Result<void> run(const Job &job, const Program &program, JitLog *log) {
    const std::string architecture = architecture_flag(job.architecture);
    std::vector<const char *> flags = {architecture.c_str()};
    if (job.output == CompileOutput::lto_ir) {
        flags.push_back("-dlto");
    }
    flags.insert(flags.end(), job.options.flags.begin(), job.options.flags.end());
    const Result<void> compiled = call<entry::nvrtcCompileProgram>(
        program.native, static_cast<int>(flags.size()), flags.data());
    if (compiled && log == nullptr) {
        return {};
    }
    const Result<CodeBytes> text = log_of(program);
    const std::string_view written = text ? text_in(*text) : std::string_view();
    if (log != nullptr) {
        *log = compiled ? CodeAccess::log(written, "") : CodeAccess::log("", written);
    }
    if (!compiled) {
        return with_log(compiled.error(), subject_of(job), written);
    }
    return text ? Result<void>() : text.error();
}

Result<CodeBytes> lto_ir_of(nvrtcProgram program) noexcept {
#if CUDA_VERSION >= 12000
    return fetch<entry::nvrtcGetLTOIRSize, entry::nvrtcGetLTOIR>(program);
#else
    (void)program;
    return Error::requires_newer_headers("nvrtcGetLTOIR", Version::of(12, 0));
#endif
}

// Before the compilation, which may take seconds.
Result<void> require_output(CompileOutput output) noexcept {
#if CUDA_VERSION >= 12000
    if (output == CompileOutput::lto_ir) {
        return require_entry<entry::nvrtcGetLTOIR>(Version::of(12, 0));
    }
#endif
    if (output == CompileOutput::cubin) {
        return require_entry<entry::nvrtcGetCUBIN>(Version::of(11, 1));
    }
    return {};
}

Result<CodeBytes> output_of(const Job &job, nvrtcProgram program) noexcept {
    switch (job.output) {
    case CompileOutput::cubin:
        return fetch<entry::nvrtcGetCUBINSize, entry::nvrtcGetCUBIN>(program);
    case CompileOutput::lto_ir:
        return lto_ir_of(program);
    default:
        break;
    }
    return fetch_text<entry::nvrtcGetPTXSize, entry::nvrtcGetPTX>(program);
}

const char *kind_of(CompileOutput output) noexcept {
    return output == CompileOutput::cubin ? "cubin"
           : output == CompileOutput::ptx ? "PTX"
                                          : "LTO IR";
}

// A call succeeded with a result that it cannot have.
Error impossible(const char *entry_point, const char *result) noexcept {
    return Error::make({.entry_point = entry_point, .detail = result});
}

Result<CodeBytes> names_of(const Job &job, nvrtcProgram program) {
    std::string names;
    for (const char *const expression : job.options.name_expressions) {
        const char *lowered = nullptr;
        const Result<void> found = call<entry::nvrtcGetLoweredName>(program, expression, &lowered);
        if (!found) {
            return explained(found.error(), "name expression \"%.250s\" of %.100s", expression,
                             job.options.name);
        }
        if (lowered == nullptr) {
            return impossible(entry::nvrtcGetLoweredName::name, "NVRTC returned a null name");
        }
        names.append(expression).push_back('\0');
        names.append(lowered).push_back('\0');
    }
    CodeBytes copy = copy_of(names);
    return copy ? Result<CodeBytes>(static_cast<CodeBytes &&>(copy)) : no_host_memory();
}

Result<CompiledCode> compile_job(const Job &job, JitLog *log) {
    CUSHIM_TRY_VOID(require_output(job.output));
    Program program;
    CUSHIM_TRY_VOID(create(job, program));
    CUSHIM_TRY_VOID(run(job, program, log));
    CUSHIM_TRY(CodeBytes code, output_of(job, program.native));
    if (code.size() == 0) {
        return invalid_argument("NVRTC produced no %s of %.100s; CompileOptions::flags "
                                "must not select another output",
                                kind_of(job.output), job.options.name);
    }
    CUSHIM_TRY(CodeBytes names, names_of(job, program.native));
    return CompiledCode(job.output, std::move(code), std::move(names));
}

// The newest architecture of the library up to this one; `wanted` if the library is too old to
// list them. 0: all are newer.
Result<int> newest_up_to(int wanted) {
#if CUDA_VERSION >= 11020
    if (!is_available<entry::nvrtcGetSupportedArchs>()) {
        return wanted;
    }
    int count = 0;
    CUSHIM_TRY_VOID(call<entry::nvrtcGetNumSupportedArchs>(&count));
    if (count < 0 || count > 10'000) {
        return impossible(entry::nvrtcGetNumSupportedArchs::name,
                          "NVRTC returned an impossible number of architectures");
    }
    std::vector<int> architectures(static_cast<std::size_t>(count));
    CUSHIM_TRY_VOID(call<entry::nvrtcGetSupportedArchs>(architectures.data()));
    int newest = 0;
    for (const int each : architectures) {
        if (each <= wanted && each > newest) {
            newest = each;
        }
    }
    return newest;
#else
    return wanted;
#endif
}

Error not_supported(Device device, int number, const char *what, const char *remedy) noexcept {
    char text[300];
    const auto version = library_version<entry::nvrtcVersion, int>();
    std::snprintf(text, sizeof text, "NVRTC %s %s device %d, whose compute capability is %d.%d; %s",
                  to_text(version.value_or(Version())).c_str(), what, device.native(), number / 10,
                  number % 10, remedy);
    return Error::make({.kind = ErrorKind::not_supported_by_device, .detail = text});
}

// Replaces the output `loadable`, and sets the architecture, for a device.
Result<void> choose(Device device, Job &job) noexcept {
    CUSHIM_TRY(const int wanted, architecture_number(device));
    CUSHIM_TRY(const int found, with_memory([&] { return newest_up_to(wanted); }));
    if (found == 0) {
        return not_supported(device, wanted, "no longer supports", "use an older NVRTC");
    }
    const bool is_exact = found == wanted;
    if (job.output == CompileOutput::cubin && !is_exact) {
        return not_supported(
            device, wanted, "has no machine code for",
            "request CompileOutput::loadable or CompileOutput::ptx, or install a newer NVRTC");
    }
    if (job.output == CompileOutput::loadable) {
        job.output = is_exact ? CompileOutput::cubin : CompileOutput::ptx;
    }
    job.architecture = job.output == CompileOutput::cubin ? Architecture::real(found)
                                                          : Architecture::virtual_of(found);
    return {};
}

// The same for an architecture.
Result<void> choose(const char *architecture, Job &job) noexcept {
    CUSHIM_TRY(job.architecture, Architecture::parse(architecture));
    const bool is_virtual = job.architecture.is_virtual();
    if (job.output == CompileOutput::cubin && is_virtual) {
        return invalid_argument("a cubin requires an architecture such as sm_90, not the "
                                "virtual architecture %s",
                                job.architecture.characters);
    }
    if (job.output == CompileOutput::loadable) {
        job.output = is_virtual ? CompileOutput::ptx : CompileOutput::cubin;
    }
    return {};
}

template <class Target>
Result<CompiledCode> compile_for(Target target, const char *source, const CompileOptions &options,
                                 JitLog *log) noexcept {
    if (log != nullptr) {
        log->reset();
    }
    CUSHIM_TRY_VOID(check(source, options));
    Job job{source, options, {}, options.output};
    CUSHIM_TRY_VOID(choose(target, job));
    return with_memory([&] { return compile_job(job, log); });
}

} // namespace

Text to_text(CompileOutput output) noexcept {
    using enum CompileOutput;
    return enum_text("CompileOutput", output,
                     {{loadable, "loadable"}, {ptx, "ptx"}, {cubin, "cubin"}, {lto_ir, "lto_ir"}});
}

Result<CompiledCode> CompiledCode::compile(Device device, const char *source,
                                           const CompileOptions &options, JitLog *log) noexcept {
    return named("CompiledCode::compile", compile_for(device, source, options, log));
}

Result<CompiledCode> CompiledCode::compile(const char *architecture, const char *source,
                                           const CompileOptions &options, JitLog *log) noexcept {
    return named("CompiledCode::compile", compile_for(architecture, source, options, log));
}

Result<const char *> CompiledCode::lowered_name(const char *name_expression) const noexcept {
    return named("CompiledCode::lowered_name", [&]() -> Result<const char *> {
        if (name_expression == nullptr) {
            return Error::invalid_argument("the name expression is null");
        }
        const std::string_view wanted = name_expression;
        const char *at = names_.data();
        for (const char *const end = at + names_.size(); at != end;) {
            const std::string_view expression = at;
            const char *const lowered = at + expression.size() + 1;
            if (expression == wanted) {
                return lowered;
            }
            at = lowered + std::string_view(lowered).size() + 1;
        }
        return invalid_argument(
            "\"%.250s\" is not one of CompileOptions::name_expressions of the compilation",
            name_expression);
    });
}

Result<Version> CompiledCode::compiler_version() noexcept {
    return named("CompiledCode::compiler_version", library_version<entry::nvrtcVersion, int>());
}

} // namespace cushim
