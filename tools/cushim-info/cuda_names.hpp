// Recognizes CUDA libraries and functions by name.
#pragma once

#include <string_view>

namespace cushim_info {

enum class LibraryKind {
    other,
    driver,  // libcuda.so.1, nvcuda.dll: replaced by cushim
    runtime, // libcudart.so.13, cudart64_13.dll: likewise
    toolkit  // libcublas, libnvrtc, libnvidia-ml, ...: some have a drop-in of their own
};

// By file name, in any folder.
LibraryKind library_kind(std::string_view file_name);

// The name by which cushim knows a toolkit library: "nvml" of libnvidia-ml.so.1; its drop-in is
// cushim-nvml-dropin. "" if it has none.
std::string_view dropin_of(std::string_view file_name);

// For JSON: "driver".
const char *kind_word(LibraryKind kind);

// Whether the driver (cuInit) or the runtime (cudaMalloc, __cudaRegisterFunction) should define a
// function of that name; other for functions that nvcc defines in each file.
LibraryKind function_kind(std::string_view name);

// Whether constructors of files with device code call the function, so that it is required at
// start-up even with lazy binding.
bool is_called_before_main(std::string_view name);

// Whether it is a function of the interop headers (cudaGL.h, cuda_egl_interop.h, ...: OpenGL, EGL,
// VDPAU and Direct3D), which cushim's drop-in lacks.
bool is_interop_function(std::string_view name);

// The longest name that function_kind() can recognize.
constexpr std::size_t longest_function_name = 200;

} // namespace cushim_info
