/* NVRTC: compiles CUDA C++ while the program runs.
 *
 *     CUSHIM_TRY(const auto code, CompiledCode::compile(device, source, {.name = "scale.cu"}));
 *     CUSHIM_TRY(const Module module, Module::load(context, code));
 *
 * Part of cushim if it was built with -Dlibraries=nvrtc. NVRTC itself is loaded by the first
 * compilation: see loader.hpp. Programs need no header of NVRTC. */
#ifndef CUSHIM_NVRTC_HPP
#define CUSHIM_NVRTC_HPP

#if !__has_include(<cushim/nvrtc_library.h>)
#error "this cushim was built without its NVRTC wrapper: configure it with -Dlibraries=nvrtc"
#endif

#include <cstddef>
#include <span>

#include <cushim/code.hpp>
#include <cushim/detail/code_bytes.hpp>
#include <cushim/device.hpp>
#include <cushim/result.hpp>
#include <cushim/text.hpp>
#include <cushim/version.hpp>

namespace cushim {

// What a compilation produces.
enum class CompileOutput : unsigned char {
    // For Module::load(): a cubin, or PTX if the architecture is a virtual one (compute_90). For a
    // Device that is newer than NVRTC, PTX, which the driver compiles.
    loadable,
    ptx,   // PTX
    cubin, // machine code of an architecture such as sm_90; since NVRTC 11.1
    lto_ir // for LinkedCode::link() (nvjitlink.hpp), which optimizes across inputs; since
           // NVRTC 12.0
};
CUSHIM_API Text to_text(CompileOutput output) noexcept;

// A header that the source includes by this name. Both strings are null-terminated.
struct SourceHeader {
    const char *name = nullptr; // as in the source's include directive
    const char *text = nullptr; // its content
};

/* How a source is compiled. The spans are views: what they refer to must stay valid until compile()
 * returns.
 *
 *     const char *const flags[] = {"-std=c++20", "-I/opt/project/include"};
 *     const char *const kernels[] = {"scale<float>", "scale<double>"};
 *     CompiledCode::compile(device, source, {.flags = flags, .name_expressions = kernels}); */
struct CompileOptions {
    // The name of the source in the compiler's log and in errors.
    const char *name = "program.cu";
    CompileOutput output = CompileOutput::loadable;
    // Options of NVRTC; one that has an argument is one string: "-DSIZE=4". Not the architecture,
    // nor -dlto, which compile() adds.
    std::span<const char *const> flags = {};
    // Headers that are passed as text. If the source includes CUDA's own headers, add -I and their
    // folder to `flags`.
    std::span<const SourceHeader> headers = {};
    // Kernels and variables whose mangled names are needed, as C++ expressions: "scale<float>",
    // "&table". Kernel templates are instantiated by this.
    std::span<const char *const> name_expressions = {};
};

/* Compiled code: PTX, a cubin or LTO IR in host memory.
 *
 * It owns its bytes. Moved, not copied; a moved-from object is empty. Module::load() and
 * Library::load() take it as a CodeImage, and do not need it afterwards.
 *
 * Threads: as for an int. Several threads may compile at the same time.
 * Context: none is needed. A compilation for a Device initialises the driver; one for an
 * architecture needs neither a driver nor a GPU.
 *
 * Errors: library_not_found without NVRTC; symbol_not_found if it is too old for the output, with
 * required() and installed() as versions of NVRTC; requires_newer_headers; out_of_memory;
 * not_supported_by_device if NVRTC no longer supports the device, or has no machine code for it and
 * the output is a cubin; the status of the NVRTC call, an nvrtcResult, with api() Api::library. The
 * message of a failed compilation (NVRTC_ERROR_COMPILATION, 6) has the name of the source and the
 * first 4,000 bytes of the log.
 *
 * nvrtcCreateProgram, nvrtcAddNameExpression, nvrtcCompileProgram, nvrtcGetProgramLog, nvrtcGetPTX,
 * nvrtcGetCUBIN, nvrtcGetLTOIR, nvrtcGetLoweredName, nvrtcDestroyProgram, and for a Device
 * nvrtcGetSupportedArchs (since NVRTC 11.2; without it, the device's architecture is used). */
class CompiledCode {
  public:
    // Empty.
    CompiledCode() noexcept = default;
    // What compile() returns; not for programs.
    CompiledCode(CompileOutput output, detail::CodeBytes &&code, detail::CodeBytes &&names) noexcept
        : code_(static_cast<detail::CodeBytes &&>(code)),
          names_(static_cast<detail::CodeBytes &&>(names)), output_(output) {}

    // Compiles a source, null-terminated CUDA C++, for a device. If NVRTC does not know the
    // architecture of a newer device, `loadable` and `ptx` give PTX of the newest older
    // architecture, and `lto_ir` gives LTO IR of it; `cubin` fails with not_supported_by_device.
    // `log` receives the compiler's whole log: error() if the compilation fails, info(), with
    // warnings, if it succeeds. invalid_argument if a string is null, or the output is not an
    // enumerator.
    CUSHIM_API static Result<CompiledCode> compile(Device device, const char *source,
                                                   const CompileOptions &options = {},
                                                   JitLog *log = nullptr) noexcept;

    // The same for an architecture: "sm_90", "sm_90a", "compute_80". invalid_argument also if it
    // has another form, or the output is a cubin and the architecture a virtual one (compute_80).
    CUSHIM_API static Result<CompiledCode> compile(const char *architecture, const char *source,
                                                   const CompileOptions &options = {},
                                                   JitLog *log = nullptr) noexcept;

    // What was produced: ptx, cubin or lto_ir, never `loadable`.
    CompileOutput output() const noexcept { return output_; }
    // The code; followed by a NUL that is not counted. Never null. Valid as long as this object.
    const char *data() const noexcept { return code_.data(); }
    // The number of bytes; 0 if empty.
    std::size_t size() const noexcept { return code_.size(); }
    // A view for Module::load() and Library::load(), valid as long as this object.
    operator CodeImage() const noexcept { return {data(), size()}; }

    // The mangled name for Module::kernel() and Module::global(), from a name expression of the
    // options; valid as long as this object. invalid_argument if the options did not have it.
    CUSHIM_API Result<const char *> lowered_name(const char *name_expression) const noexcept;

    // The version of the NVRTC that is installed. nvrtcVersion.
    CUSHIM_API static Result<Version> compiler_version() noexcept;

  private:
    detail::CodeBytes code_;
    detail::CodeBytes names_; // pairs of strings: the name expression and its lowered name
    CompileOutput output_ = CompileOutput::ptx;
};

} // namespace cushim

#endif
