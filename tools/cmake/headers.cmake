# Finds the CUDA headers where tools/headers/meson.build does, and before that in the folders of
# find_package(CUDAToolkit), as cushim-config.cmake.in does. Sets cushim_cuda_folders (empty: the compiler's default
# path) and cushim_cuda_version (13020 is 13.2).

# In cushim_cuda_version, the version of the headers in these folders; "": they are not usable, and cushim_reason has
# the compiler's first error.
function(cushim_try_headers)
    unset(cushim_usable CACHE)
    try_compile(cushim_usable "${CMAKE_CURRENT_BINARY_DIR}/headers" "${CMAKE_CURRENT_LIST_DIR}/headers_probe.cpp"
        CMAKE_FLAGS "-DINCLUDE_DIRECTORIES=${ARGN}"
        OUTPUT_VARIABLE output
        COPY_FILE "${CMAKE_CURRENT_BINARY_DIR}/headers.probe" COPY_FILE_ERROR ignored)
    set(version "")
    if(cushim_usable)
        file(STRINGS "${CMAKE_CURRENT_BINARY_DIR}/headers.probe" version REGEX "CUDA_VERSION=[0-9]+\\." LIMIT_COUNT 1)
        string(REGEX REPLACE ".*CUDA_VERSION=0*([0-9]+)\\..*" "\\1" version "${version}")
    endif()
    unset(cushim_usable CACHE)
    string(REGEX MATCH "[^\n]*error[^\n]*" reason "${output}")
    set(cushim_cuda_version "${version}" PARENT_SCOPE)
    set(cushim_reason "${reason}" PARENT_SCOPE)
endfunction()

# For the generator.
set(cushim_style gcc)
if(MSVC)
    set(cushim_style msvc)
endif()
cushim_compiler_flags(cushim_flags)

set(cushim_cuda_folders "")
set(cushim_cuda_version "")
set(cushim_chosen "")
foreach(cushim_name CUSHIM_CUDA_INCLUDE_DIR CUDAToolkit_INCLUDE_DIRS)
    if(${cushim_name} AND NOT cushim_chosen)
        set(cushim_chosen ${cushim_name})
    endif()
endforeach()

if(cushim_chosen)
    foreach(cushim_folder IN LISTS ${cushim_chosen})
        get_filename_component(cushim_folder "${cushim_folder}" ABSOLUTE BASE_DIR "${CMAKE_SOURCE_DIR}")
        list(APPEND cushim_cuda_folders "${cushim_folder}")
    endforeach()
    # Without this check, a folder without headers would go unnoticed if the default path has some.
    set(cushim_reason "the file does not exist")
    foreach(cushim_folder IN LISTS cushim_cuda_folders)
        if(NOT cushim_cuda_version AND EXISTS "${cushim_folder}/cuda.h")
            cushim_try_headers(${cushim_cuda_folders})
        endif()
    endforeach()
    if(NOT cushim_cuda_version)
        message(FATAL_ERROR "cushim: no usable cuda.h and cuda_runtime_api.h in "
            "${cushim_chosen}=${${cushim_chosen}}\n  ${cushim_reason}")
    endif()
else()
    cushim_try_headers()
    if(NOT cushim_cuda_version)
        set(cushim_family "${CMAKE_SYSTEM_PROCESSOR}")
        if(cushim_family MATCHES "^(arm64|ARM64|aarch64)$")
            set(cushim_family aarch64)
        elseif(cushim_family MATCHES "^(AMD64|amd64|x86_64)$")
            set(cushim_family x86_64)
        endif()
        # CUDA_PATH, CUDA_HOME, /usr/local/cuda: their folders that exist.
        execute_process(COMMAND "${cushim_python}" "${cushim_root}/tools/headers/list_header_folders.py"
            "${cushim_family}" OUTPUT_VARIABLE cushim_candidates)
        find_program(cushim_PKG_CONFIG pkg-config)
        mark_as_advanced(cushim_PKG_CONFIG)
        if(cushim_PKG_CONFIG)
            execute_process(COMMAND "${cushim_python}" "${cushim_root}/tools/headers/list_pkgconfig_names.py"
                "${cushim_PKG_CONFIG}" OUTPUT_VARIABLE cushim_names)
            string(REGEX MATCHALL "[^\n]+" cushim_names "${cushim_names}")
            foreach(cushim_name IN LISTS cushim_names)
                execute_process(COMMAND "${cushim_PKG_CONFIG}" --variable=includedir ${cushim_name}
                    OUTPUT_VARIABLE cushim_folder)
                string(APPEND cushim_candidates "${cushim_folder}")
            endforeach()
        endif()
        string(REGEX MATCHALL "[^\r\n]+" cushim_candidates "${cushim_candidates}")
        foreach(cushim_folder IN LISTS cushim_candidates)
            if(NOT cushim_cuda_version)
                set(cushim_cuda_folders "${cushim_folder}")
                cushim_try_headers("${cushim_folder}")
            endif()
        endforeach()
    endif()
    if(NOT cushim_cuda_version)
        message(FATAL_ERROR "cushim: the CUDA headers (cuda.h, cuda_runtime_api.h) were not found.
  cushim needs the headers only, no toolkit and no driver. Ways to get them:
    - conda:         the packages cuda-cudart-dev and cuda-crt-dev (conda-forge)
    - pip:           pip download --no-deps nvidia-cuda-runtime nvidia-cuda-crt, and unzip both wheels
                     (2 MB; CUDA 12: nvidia-cuda-runtime-cu12 and any nvidia-cuda-crt)
    - NVIDIA:        the redistributable archives cuda_cudart and cuda_crt (CUDA 12: cuda_cudart and cuda_nvcc)
    - distribution:  nvidia-cuda-dev (Debian non-free), nvidia-cuda-toolkit (Ubuntu), or NVIDIA's own
                     packages cuda-cudart-dev and cuda-crt
  The folder crt, which the second package of each pair brings, belongs beside cuda_runtime_api.h.
  Then name the folder: cmake -DCUSHIM_CUDA_INCLUDE_DIR=FOLDER_WITH_CUDA_H ...")
    endif()
endif()

# The loader is C, and CPLUS_INCLUDE_PATH, for example, is a part of the default path for C++ only.
if(NOT cushim_cuda_folders)
    include(CheckCSourceCompiles)
    set(CMAKE_REQUIRED_QUIET ON)
    unset(cushim_c_finds CACHE)
    check_c_source_compiles("#include <cuda.h>\n#include <cuda_runtime_api.h>\n#if CUDA_VERSION != ${cushim_cuda_version}
#error another version\n#endif\nint main(void) { return 0; }" cushim_c_finds)
    if(NOT cushim_c_finds)
        execute_process(COMMAND "${cushim_python}" "${cushim_root}/tools/generate_tables.py" --print-folder
            --style ${cushim_style} -- "${CMAKE_CXX_COMPILER}" ${cushim_flags}
            OUTPUT_VARIABLE cushim_cuda_folders OUTPUT_STRIP_TRAILING_WHITESPACE)
    endif()
    unset(cushim_c_finds CACHE)
    unset(CMAKE_REQUIRED_QUIET)
endif()

set(cushim_place "${cushim_cuda_folders}")
if(NOT cushim_place)
    set(cushim_place "the compiler's default path")
endif()
math(EXPR cushim_cuda_major "${cushim_cuda_version} / 1000")
math(EXPR cushim_cuda_minor "${cushim_cuda_version} % 1000 / 10")
if(cushim_cuda_version LESS 11040)
    message(FATAL_ERROR "cushim: the CUDA headers in ${cushim_place} are version "
        "${cushim_cuda_major}.${cushim_cuda_minor}; cushim needs 11.4 or newer. "
        "Name others with CUSHIM_CUDA_INCLUDE_DIR")
endif()
message(STATUS "cushim ${cushim_version}: headers of CUDA ${cushim_cuda_major}.${cushim_cuda_minor} in ${cushim_place}")
