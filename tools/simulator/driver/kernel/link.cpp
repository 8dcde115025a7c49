// The linker: merges images into one, and fails if two define the same visible name.
#include "driver_functions.hpp"
#include "engine/context.hpp"
#include "image/jit_options.hpp"
#include "kernel/module.hpp"

#include <algorithm>
#include <cstring>

struct CUlinkState_st final : sim::Object {
    explicit CUlinkState_st(sim::JitOptions link_options)
        : Object(own_kind), options(link_options) {}
    static constexpr sim::Kind own_kind = sim::Kind::link;
    static bool is(sim::Kind kind) noexcept { return kind == own_kind; }

    sim::JitOptions options; // its logs receive the messages of all inputs
    sim::Image image;
    bool has_input = false;
    bool twice = false;    // an input defined a name again; the link has failed
    bool reads_all = true; // whether the functions that all inputs define are known
    std::string linked;    // the output, once it is complete
};

namespace sim {
namespace {

[[noreturn]] void fail(CUlinkState_st &state, CUresult status, const std::string &text) {
    state.options.error(text);
    state.options.write_outputs();
    refuse_image(status);
}

// Compiler options only.
void check_input_options(unsigned int count, const CUjit_option *options) {
    for (unsigned int i = 0; i < count; ++i) {
        switch (options[i]) {
        case CU_JIT_WALL_TIME:
        case CU_JIT_INFO_LOG_BUFFER:
        case CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES:
        case CU_JIT_ERROR_LOG_BUFFER:
        case CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES:
        case CU_JIT_TARGET_FROM_CUCONTEXT:
        case CU_JIT_TARGET:
            refuse(CUDA_ERROR_INVALID_VALUE);
        default:
            break;
        }
    }
}

// Whether an input of that type may have that form; the text form is valid for every type.
bool is_of_type(const std::string &bytes, CUjitInputType type) {
    const bool ptx = bytes.find(".version") != std::string::npos &&
                     bytes.find("cushim-sim-image") == std::string::npos;
    const bool binary = bytes.starts_with("\x7f"
                                          "ELF") ||
                        bytes.starts_with("\x50\xed\x55\xba");
    if (is_archive(bytes)) {
        return type == CU_JIT_INPUT_LIBRARY;
    }
    return binary ? type != CU_JIT_INPUT_PTX
                  : !ptx || type == CU_JIT_INPUT_PTX || type == CU_JIT_INPUT_OBJECT;
}

[[noreturn]] void fail_twice(CUlinkState_st &state, const std::string &name) {
    state.twice = true;
    fail(state, CUDA_ERROR_UNKNOWN, "nvlink error   : Multiple definition of '" + name + "'");
}

// If several images define a name, the globally visible definition wins, or else the first. Two
// visible definitions are an error.
template <class Item>
void append(CUlinkState_st &state, std::vector<Item> &to, const std::vector<Item> &from) {
    for (const Item &item : from) {
        const auto other =
            std::find_if(to.begin(), to.end(), [&](const Item &o) { return o.name == item.name; });
        if (other == to.end()) {
            to.push_back(item);
        } else if (item.linkage == Linkage::visible && other->linkage == Linkage::visible) {
            fail_twice(state, item.name);
        } else if (item.linkage > other->linkage) {
            *other = item;
        }
    }
}

void append_functions(CUlinkState_st &state, std::vector<std::string> &to,
                      const std::vector<std::string> &from) {
    for (const std::string &name : from) {
        if (std::find(to.begin(), to.end(), name) != to.end()) {
            fail_twice(state, name);
        }
        to.push_back(name);
    }
}

// References of the same name are merged.
void append_references(std::vector<std::string> &to, const std::vector<std::string> &from) {
    for (const std::string &name : from) {
        if (std::find(to.begin(), to.end(), name) == to.end()) {
            to.push_back(name);
        }
    }
}

Image read_input(const std::string &bytes) {
    if (is_archive(bytes)) {
        check_archive(bytes);
        return {};
    }
    return read_image(bytes.data(), bytes.size(), compute_capability(current_device()));
}

void add(CUlinkState_st &state, CUjitInputType type, const std::string &bytes, const char *name,
         const JitOptions &compiler) {
    require(state.linked.empty());
    if (!is_of_type(bytes, type)) {
        fail(state, CUDA_ERROR_INVALID_IMAGE,
             std::string(name) + ": the image does not have the given input type");
    }
    Image image;
    try {
        image = read_input(bytes);
    } catch (const ImageProblem &problem) {
        fail(state, problem.status, std::string(name) + ": " + problem.text);
    }
    if (compiler.max_registers() != 0 && image.binary_cc == 0) {
        for (ImageKernel &kernel : image.kernels) {
            kernel.registers = std::min(kernel.registers, compiler.max_registers());
        }
    }
    Image joined = state.image;
    append(state, joined.kernels, image.kernels);
    append(state, joined.variables, image.variables);
    append_functions(state, joined.functions, image.functions);
    append_references(joined.unresolved, image.unresolved);
    append_references(joined.textures, image.textures);
    append_references(joined.surfaces, image.surfaces);
    if (joined.binary_cc != 0 && image.binary_cc != 0 && joined.binary_cc != image.binary_cc) {
        fail(state, CUDA_ERROR_NO_BINARY_FOR_GPU,
             std::string(name) + ": machine code for another device");
    }
    joined.binary_cc = std::max(joined.binary_cc, image.binary_cc);
    state.image = std::move(joined);
    state.has_input = true;
    state.reads_all = state.reads_all && type == CU_JIT_INPUT_PTX;
    state.options.write_outputs();
}

// Machine code and libraries may define what the simulator does not see.
void check_resolved(CUlinkState_st &state) {
    for (const std::string &name : state.image.unresolved) {
        const std::vector<std::string> &defined = state.image.functions;
        if (state.reads_all && std::find(defined.begin(), defined.end(), name) == defined.end()) {
            fail(state, CUDA_ERROR_UNKNOWN,
                 "nvlink error   : Undefined reference to '" + name + "'");
        }
    }
}

// PTX ends at its first NUL.
std::string input_bytes(CUjitInputType type, const char *data, std::size_t size) {
    const void *end = type == CU_JIT_INPUT_PTX ? std::memchr(data, '\0', size) : nullptr;
    return end == nullptr ? std::string(data, size)
                          : std::string(data, static_cast<const char *>(end));
}

JitOptions input_options(unsigned int count, CUjit_option *options, void **values) {
    require(count == 0 || options != nullptr);
    check_input_options(count, options);
    return {count, options, values};
}

void check_type(CUjitInputType type) {
    require(static_cast<int>(type) >= 0 &&
            static_cast<int>(type) < static_cast<int>(CU_JIT_NUM_INPUT_TYPES));
}

} // namespace
} // namespace sim

namespace sim::driver {

EXPORT CUresult cuLinkCreate_v2(unsigned int numOptions, CUjit_option *options, void **optionValues,
                                OUT CUlinkState *stateOut) {
    require(stateOut != nullptr);
    current_context();
    *stateOut = Registry::get().make<CUlinkState_st>(JitOptions(numOptions, options, optionValues));
    return CUDA_SUCCESS;
}

EXPORT CUresult cuLinkAddData_v2(CUlinkState state, CUjitInputType type, void *data, size_t size,
                                 const char *name, unsigned int numOptions, CUjit_option *options,
                                 void **optionValues) {
    CUlinkState_st &link = checked(state);
    check_type(type);
    require(data != nullptr && size != 0);
    const JitOptions compiler = input_options(numOptions, options, optionValues);
    add(link, type, input_bytes(type, static_cast<const char *>(data), size),
        name ? name : "<input>", compiler);
    return CUDA_SUCCESS;
}

EXPORT CUresult cuLinkAddFile_v2(CUlinkState state, CUjitInputType type, const char *path,
                                 unsigned int numOptions, CUjit_option *options,
                                 void **optionValues) {
    CUlinkState_st &link = checked(state);
    check_type(type);
    require(path != nullptr);
    const JitOptions compiler = input_options(numOptions, options, optionValues);
    add(link, type, read_file(path), path, compiler);
    return CUDA_SUCCESS;
}

EXPORT CUresult cuLinkComplete(CUlinkState state, OUT void **cubinOut, OUT size_t *sizeOut) {
    CUlinkState_st &link = checked(state);
    require(cubinOut != nullptr && link.has_input);
    require(!link.twice, CUDA_ERROR_UNKNOWN);
    if (link.linked.empty()) {
        check_resolved(link);
        link.linked = write_image(link.image);
    }
    link.options.write_outputs();
    *cubinOut = link.linked.data();
    if (sizeOut != nullptr) {
        *sizeOut = link.linked.size() + 1;
    }
    return CUDA_SUCCESS;
}

EXPORT CUresult cuLinkDestroy(CUlinkState state) {
    Registry::get().destroy(&checked(state));
    return CUDA_SUCCESS;
}

} // namespace sim::driver
