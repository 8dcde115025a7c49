/* nvJitLink: links device code while the program runs, with link-time optimization if requested.
 *
 *     const LinkInput inputs[] = {{first, "first"}, {second, "second"}};
 *     CUSHIM_TRY(const auto code, LinkedCode::link(device, inputs));
 *     CUSHIM_TRY(const Module module, Module::load(context, code));
 *
 * Part of cushim if it was built with -Dlibraries=nvjitlink. nvJitLink itself is loaded by the
 * first link: see loader.hpp. Programs need no header of nvJitLink. */
#ifndef CUSHIM_NVJITLINK_HPP
#define CUSHIM_NVJITLINK_HPP

#if !__has_include(<cushim/nvjitlink_library.h>)
#error                                                                                             \
    "this cushim was built without its nvJitLink wrapper: configure it with -Dlibraries=nvjitlink"
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

// The type of an input of a link.
enum class LinkInputType : unsigned char {
    any,    // nvJitLink recognizes it
    cubin,  // relocatable: from nvcc -rdc=true, or NVRTC with "-rdc=true"
    ptx,    // compiled with -rdc=true, too, if it calls functions of other inputs
    lto_ir, // of CompileOutput::lto_ir, or nvcc -dlto
    fatbin, // of nvcc -fatbin
    object, // a host object with device code, of nvcc -c
    archive // a host archive with such objects
};
CUSHIM_API Text to_text(LinkInputType type) noexcept;

/* An input of a link: code in memory, or a file. A view: bytes and strings must stay valid until
 * link() returns. */
class LinkInput {
  public:
    // Code in memory; a CompiledCode converts to a CodeImage. `name` is for the linker's log.
    LinkInput(const CodeImage &image, const char *name = "input",
              LinkInputType type = LinkInputType::any) noexcept
        : image_(image), name_(name), type_(type) {}

    // A file, which nvJitLink reads.
    static LinkInput file(const char *path, LinkInputType type = LinkInputType::any) noexcept {
        LinkInput input(CodeImage(nullptr, 0), path, type);
        input.is_file_ = true;
        return input;
    }

    // The code; null for a file.
    const CodeImage &image() const noexcept { return image_; }
    // The name for the log, or the path of the file.
    const char *name() const noexcept { return name_; }
    LinkInputType type() const noexcept { return type_; }
    bool is_file() const noexcept { return is_file_; }

  private:
    CodeImage image_;
    const char *name_;
    LinkInputType type_;
    bool is_file_ = false;
};

// What a link produces.
enum class LinkOutput : unsigned char {
    cubin,
    ptx // only of LTO IR: link-time optimization without the final compilation
};
CUSHIM_API Text to_text(LinkOutput output) noexcept;

/* How inputs are linked. */
struct LinkOptions {
    LinkOutput output = LinkOutput::cubin; // what to make
    // Link-time optimization. Implied by the output ptx, and by an input of type lto_ir or, in
    // memory, recognized as LTO IR. nvJitLink fails with NVJITLINK_ERROR_NVVM_COMPILE (5) if
    // no input has LTO IR.
    bool link_time_optimization = false;
    // Options of nvJitLink: "-O0" (13.0 has only -O0 and -O3), "-g", "-lineinfo", "-verbose". Not
    // the architecture, -lto and -ptx, which link() adds. A view, which must stay valid until
    // link() returns.
    std::span<const char *const> flags = {};
};

/* Linked code: a cubin or PTX in host memory.
 *
 * It owns its bytes. Moved, not copied; a moved-from object is empty. Module::load() and
 * Library::load() take it as a CodeImage, and do not need it afterwards.
 *
 * Threads: as for an int. Several threads may link at the same time; the end of this file has an
 * exception.
 * Context: none is needed. A link for a Device initialises the driver; one for an architecture
 * needs neither a driver nor a GPU.
 *
 * Errors: library_not_found without nvJitLink; symbol_not_found if it is older than the header that
 * cushim was built with; out_of_memory; the status of the nvJitLink call, an nvJitLinkResult, with
 * api() Api::library. The message has the name of the input, if an input was rejected, and the
 * first 4,000 bytes of the error log.
 *
 * Requires nvJitLink 12.3. __nvJitLinkCreate_*, __nvJitLinkAddData_*, __nvJitLinkAddFile_*,
 * __nvJitLinkComplete_*, __nvJitLinkGetLinkedCubin_*, __nvJitLinkGetLinkedPtx_*,
 * __nvJitLinkGetErrorLog_*, __nvJitLinkGetInfoLog_*, __nvJitLinkDestroy_*: the names of the header
 * contain its version. */
class LinkedCode {
  public:
    // Empty.
    LinkedCode() noexcept = default;
    // What link() returns; not for programs.
    LinkedCode(LinkOutput output, detail::CodeBytes &&code) noexcept
        : code_(static_cast<detail::CodeBytes &&>(code)), output_(output) {}

    // Links for a device. `log` receives both logs in full: info(), which has text with flags
    // such as "-verbose" or "-time", and error(). invalid_argument
    // - if the list of inputs is empty, a string is null, or the output is not an enumerator
    // - if a flag is one that link() adds: "-arch=sm_90", "-lto", "-ptx"
    // - if an input is null, empty or truncated
    // - if a cubin in memory is not relocatable, or for an architecture that does not fit: see the
    //   end of this file
    CUSHIM_API static Result<LinkedCode> link(Device device, std::span<const LinkInput> inputs,
                                              const LinkOptions &options = {},
                                              JitLog *log = nullptr) noexcept;

    // The same for an architecture: "sm_90", "sm_90a", for PTX also "compute_90". invalid_argument
    // also if it has another form.
    CUSHIM_API static Result<LinkedCode> link(const char *architecture,
                                              std::span<const LinkInput> inputs,
                                              const LinkOptions &options = {},
                                              JitLog *log = nullptr) noexcept;

    // What was produced.
    LinkOutput output() const noexcept { return output_; }
    // The code; followed by a NUL that is not counted. Never null. Valid as long as this object.
    const char *data() const noexcept { return code_.data(); }
    // The number of bytes; 0 if empty.
    std::size_t size() const noexcept { return code_.size(); }
    // A view for Module::load() and Library::load(), valid as long as this object.
    operator CodeImage() const noexcept { return {data(), size()}; }

    // The version of the nvJitLink that is installed. nvJitLinkVersion.
    CUSHIM_API static Result<Version> linker_version() noexcept;

  private:
    detail::CodeBytes code_;
    LinkOutput output_ = LinkOutput::cubin;
};

} // namespace cushim

/* Corner cases:
 *
 * | what happens if                              |                                                |
 * |----------------------------------------------|------------------------------------------------|
 * | two inputs define a function                 | That is an error in LTO IR. In cubins and PTX, |
 * |                                              | nvJitLink prints "Multiple definition" to the  |
 * |                                              | output of the process, and the link succeeds.  |
 * | a cubin in memory is not relocatable         | link() fails with invalid_argument: nvJitLink  |
 * |                                              | would leave out its code.                      |
 * | a cubin in memory is for a newer             | link() fails with invalid_argument: see the    |
 * | architecture, for one of another major       | next row.                                      |
 * | version, or for one of an integrated GPU,    |                                                |
 * | such as sm_87, that is not that of the link  |                                                |
 * | nvJitLink 13.0 itself rejects a cubin for    | Afterwards every link on another thread hangs. |
 * | another architecture, such as one in a file, |                                                |
 * | a fatbin or an archive, which link() does    |                                                |
 * | not examine                                  |                                                |
 */

#endif
