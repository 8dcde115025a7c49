// What a module is loaded from, and the text form in which a test writes one.
//
// Wherever the driver takes a cubin, a fatbin or PTX, as an argument (NUL-terminated) or as a file,
// it also takes text of this form. One statement a line, '#' begins a comment, the first line is
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
// kernel NAME, all attributes optional:
//   params=SIZE,…       sizes in bytes. Offsets follow C's rules for members whose alignment is the
//   largest
//                       power of two, up to 16, that divides the size; SIZE:ALIGNMENT says another
//                       one
//   max_threads=N       of a block, as __launch_bounds__ has it; default 1024
//   registers=N         of a thread; default 32
//   shared=N local=N constant=N    bytes: static shared memory, local memory of a thread,
//   constants; default 0 cluster=X,Y,Z       the cluster size that the kernel was compiled for;
//   default none ptx=NN binary=NN    the versions that its attributes tell, 80 or 90; default: the
//   device's
// global, constant and managed NAME size=N [init=HEX]   variables; what init leaves out is zero
// target cc=M.N         machine code: other devices answer NO_BINARY_FOR_GPU; default: runs
// everywhere
//
// Numbers are decimal or begin with 0x. Of real images, PTX is read for its entries, parameters and
// variables, a cubin for the same out of its symbols, a fatbin for the best image for the device.
// The linker takes libraries of objects, too, but reads nothing out of them: they give no kernels
// and no variables. What a kernel computes is never read: that is the host function that the test
// registers under its name.
#pragma once

#include "base/cuda_headers.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sim {

struct KernelParameter {
    std::size_t offset, size; // bytes, in the layout on the device
};

// Whose name it is when images are linked: its image's own, that of the first which has it, or of
// all.
enum class Linkage : unsigned char { local, weak, visible };

struct ImageKernel {
    std::string name;
    Linkage linkage = Linkage::visible;
    std::vector<KernelParameter> parameters;
    int max_threads = 1024;
    int registers = 32;
    int shared = 0, local = 0, constant = 0; // bytes
    int ptx_version = 0, binary_version = 0; // 0: the device's
    unsigned int cluster[3] = {};            // zeros: none was compiled in

    // The size of all parameters with the gaps between them.
    std::size_t parameter_bytes() const noexcept {
        return parameters.empty() ? 0 : parameters.back().offset + parameters.back().size;
    }
    // Puts a parameter behind the others. alignment: a power of two, or 0 for the one its size
    // suggests.
    void add_parameter(std::size_t size, std::size_t alignment);
};

struct ImageVariable {
    enum class Kind { global, constant, managed };
    Kind kind = Kind::global;
    std::string name;
    Linkage linkage = Linkage::visible;
    std::size_t size = 0;
    std::vector<std::byte> initial; // as many bytes as are not zero, from the beginning
};

struct Image {
    std::vector<ImageKernel> kernels;
    std::vector<ImageVariable> variables;
    std::vector<std::string> textures, surfaces;
    int binary_cc = 0;  // machine code of this compute capability, 90 for 9.0; 0: none
    int minimum_cc = 0; // of PTX

    const ImageKernel *kernel(std::string_view name) const noexcept;
    const ImageVariable *variable(std::string_view name) const noexcept;
    // Whether a device can run it.
    bool fits(int cc) const noexcept;
};

// Why bytes are no image; the text is for the client's error log.
struct ImageProblem {
    CUresult status;
    std::string text;
};

// Throws ImageProblem. size: nothing where only the image itself can tell. cc: the compute
// capability for which a fatbin's image is taken, 90 for 9.0.
Image read_image(const void *image, std::optional<std::size_t> size, int cc);
// The text form of an image, which read_image() takes back.
std::string write_image(const Image &image);

// The forms, one file each. Throw ImageProblem.
Image read_text(std::string_view text);                     // image_text.cpp
Image read_ptx(std::string_view text);                      // ptx.cpp
Image read_cubin(const std::byte *bytes, std::size_t size); // cubin.cpp
// The best one for a device of that compute capability. fatbin.cpp.
Image read_fatbin(const std::byte *bytes, std::size_t size, int cc);
std::size_t cubin_size(const std::byte *bytes) noexcept;  // by its own header; 0: not one
std::size_t fatbin_size(const std::byte *bytes) noexcept; // the same
// A library of host objects that hold device code, as libcudadevrt.a is one. archive.cpp.
bool is_archive(std::string_view bytes) noexcept;
// Throws ImageProblem where it is damaged.
void check_archive(std::string_view bytes);
// A file of bytes; refuses with FILE_NOT_FOUND.
std::string read_file(const char *path);

} // namespace sim
