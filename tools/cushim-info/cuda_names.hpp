// Which file names and function names belong to CUDA.
#pragma once

#include <string_view>

namespace cushim_info {

enum class LibraryKind {
    other,
    driver,  // libcuda.so.1, nvcuda.dll: cushim stands in for it
    runtime, // libcudart.so.13, cudart64_13.dll: likewise
    toolkit  // libcublas, libnvrtc, libnvidia-ml, ...: nothing of cushim's
};

// By the file name alone, whatever folder it is in.
LibraryKind library_kind(std::string_view file_name);

// One word for a program: "driver".
const char *kind_word(LibraryKind kind);

// Whether a function of that name is expected in the driver (cuInit) or in the runtime (cudaMalloc,
// __cudaRegisterFunction); else other, as what nvcc defines in each file that it links.
LibraryKind function_kind(std::string_view name);

// Whether it is one that a file with device code calls in its constructors: it must be there at
// start-up even where functions are looked up when they are first called.
bool is_called_before_main(std::string_view name);

// Whether it is one of the interop headers' functions (cudaGL.h, cuda_egl_interop.h, ...: those for
// OpenGL, EGL, VDPAU and Direct3D), of which cushim's drop-in has none.
bool is_interop_function(std::string_view name);

// The longest name that function_kind says something about.
constexpr std::size_t longest_function_name = 200;

} // namespace cushim_info
