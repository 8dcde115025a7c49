// Images that modules are loaded from, and the text form in which a test writes one.
//
// The text form is accepted wherever the driver accepts a cubin, a fatbin or PTX, as an argument
// (NUL-terminated) or as a file. One statement a line; '#' begins a comment; the first line is
// fixed:
//
//   cushim-sim-image 1
//   kernel add params=8,8,8,4 max_threads=1024 registers=32 shared=0 local=0
//   global counter size=4 init=2a000000
//   constant table size=64
//   managed flags size=16
//   texture image
//   surface target
//   target cc=9.0
//
// kernel NAME, with optional attributes:
//
//   params=SIZE,…       sizes in bytes. Offsets follow C's rules, with an alignment of the largest
//                       power of two, up to 16, that divides the size; or write SIZE:ALIGNMENT
//   max_threads=N       per block, as in __launch_bounds__; default 1024
//   registers=N         per thread; default 32
//   shared=N            bytes of static shared memory; default 0
//   local=N             bytes of local memory per thread; default 0
//   constant=N          bytes of constants; default 0
//   cluster=X,Y,Z       compiled cluster size; default: none
//   ptx=NN binary=NN    versions in the kernel's attributes, 80 or 90; default: the device's
//
// global, constant and managed NAME size=N [init=HEX]   variables; init is padded with zeros
//
// target cc=M.N         machine code: other devices return NO_BINARY_FOR_GPU; default: any device
//
// Numbers are decimal or begin with 0x. From real images, the simulator reads entries, parameters
// and variables: from the text of PTX, from the symbols of a cubin, and from the image of a fatbin
// that fits the device best. PTX is checked as a driver's compiler checks it. The linker also
// accepts libraries of objects but reads nothing from them, so they add no kernels or variables.
// The code of kernels is never read; a test registers host functions under their names.
#pragma once

#include "base/cuda_headers.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sim {

struct KernelParameter {
    std::size_t offset, size; // bytes, in device layout
};

// Visibility of a name to other linked images: none, the first definition wins, or global.
enum class Linkage : unsigned char { local, weak, visible };

struct ImageKernel {
    std::string name;
    Linkage linkage = Linkage::visible;
    std::vector<KernelParameter> parameters;
    int max_threads = 1024;
    int registers = 32;
    int shared = 0, local = 0, constant = 0; // bytes
    int ptx_version = 0, binary_version = 0; // 0: that of the device
    unsigned int cluster[3] = {};            // zeros: not set at compile time
    bool cluster_must_be_set = false;        // by the launch, if it was not set at compile time
    unsigned int most_cluster = 0;           // blocks; 0: no limit of the kernel

    // The size of all parameters, including padding.
    std::size_t parameter_bytes() const noexcept {
        return parameters.empty() ? 0 : parameters.back().offset + parameters.back().size;
    }
    // Appends a parameter. alignment: a power of two, or 0 for the default of its size.
    void add_parameter(std::size_t size, std::size_t alignment);
};

struct ImageVariable {
    enum class Kind { global, constant, managed };
    Kind kind = Kind::global;
    std::string name;
    Linkage linkage = Linkage::visible;
    std::size_t size = 0;
    std::vector<std::byte> initial; // initial bytes up to the last that is not zero
};

struct Image {
    std::vector<ImageKernel> kernels;
    std::vector<ImageVariable> variables;
    std::vector<std::string> textures, surfaces;
    // Of PTX: device functions that it defines, and those that it calls and another image must
    // define.
    std::vector<std::string> functions, unresolved;
    int binary_cc = 0;  // machine code for this compute capability, 90 for 9.0; 0: PTX
    int minimum_cc = 0; // required by PTX
    std::vector<std::size_t> by_name; // places of kernels in order of their names

    const ImageKernel *kernel(std::string_view name) const noexcept;
    // For complete images, after sort_names(): the place of the first kernel of that name.
    std::optional<std::size_t> place_of_kernel(std::string_view name) const noexcept;
    void sort_names();
    const ImageVariable *variable(std::string_view name) const noexcept;
    // Whether a device can run it.
    bool fits(int cc) const noexcept;
};

// Why an image is invalid; the text is for the client's error log.
struct ImageProblem {
    CUresult status;
    std::string text;
};

// Throws ImageProblem. size: no value if only the image itself can tell. cc: the compute capability
// that a fatbin's image is selected for, 90 for 9.0.
Image read_image(const void *image, std::optional<std::size_t> size, int cc);
// The text form of an image, for read_image().
std::string write_image(const Image &image);

// Readers of the forms, one file each. Throw ImageProblem.
Image read_text(std::string_view text);                     // image_text.cpp
Image read_ptx(std::string_view text);                      // ptx.cpp
Image read_cubin(const std::byte *bytes, std::size_t size); // cubin.cpp
// The best image for a device of that compute capability. fatbin.cpp.
Image read_fatbin(const std::byte *bytes, std::size_t size, int cc);
std::size_t cubin_size(const std::byte *bytes) noexcept;  // from its header; 0: not a cubin
std::size_t fatbin_size(const std::byte *bytes) noexcept; // from its header; 0: not a fatbin
// A library of host objects that contain device code, such as libcudadevrt.a. archive.cpp.
bool is_archive(std::string_view bytes) noexcept;
// Throws ImageProblem if it is damaged.
void check_archive(std::string_view bytes);
// Reads a file; fails with FILE_NOT_FOUND.
std::string read_file(const char *path);

} // namespace sim
