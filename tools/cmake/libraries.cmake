# The libraries of ../../src and their tables.

# --- flags, for GCC and Clang, as in the meson.build files of ../../src
set(cushim_gnu OFF)
if(CMAKE_CXX_COMPILER_ID MATCHES "GNU|Clang" AND NOT MSVC)
    set(cushim_gnu ON)
endif()
set(cushim_sections "")
set(cushim_landing_pads "")
set(cushim_core_options "")
set(cushim_rows_options "")
set(cushim_no_runtime_options "")
set(cushim_exceptions_options "")
set(cushim_dropin_options "")
if(cushim_gnu)
    set(cushim_sections -ffunction-sections -fdata-sections)
    if(CMAKE_SYSTEM_NAME STREQUAL "Linux" AND CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|amd64)$")
        set(cushim_landing_pads -fcf-protection=full)
    elseif(CMAKE_SYSTEM_NAME STREQUAL "Linux" AND CMAKE_SYSTEM_PROCESSOR MATCHES "^(aarch64|arm64)$")
        set(cushim_landing_pads -mbranch-protection=standard)
    endif()
    set(cushim_core_options ${cushim_sections} ${cushim_landing_pads})
    set(cushim_exceptions_options -fexceptions -frtti)
    set(cushim_no_runtime_options -fno-exceptions -fno-rtti -fno-threadsafe-statics) # for C++
    set(cushim_rows_options -Os -fno-asynchronous-unwind-tables -fno-unwind-tables)
    if(CMAKE_C_COMPILER_ID STREQUAL "GNU")
        list(APPEND cushim_rows_options -fno-caller-saves)
    endif()
    set(cushim_dropin_options ${cushim_landing_pads} -fno-stack-protector -ffunction-sections -fno-lto -O2
        -foptimize-sibling-calls)
endif()
set(cushim_quiet "") # the warnings that a project enables are for its own sources
if(cushim_is_part)
    set(cushim_quiet $<IF:$<BOOL:${MSVC}>,/w,-w>)
endif()

# The sources that the meson.build of a folder names.
function(cushim_sources variable folder)
    file(READ "${folder}/meson.build" text)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${folder}/meson.build")
    string(REGEX MATCHALL "'[a-z0-9_/]+\\.(c|cpp)'" names "${text}")
    set(sources ${${variable}})
    foreach(name IN LISTS names)
        string(REPLACE "'" "" name "${name}")
        if(EXISTS "${folder}/${name}") # other names are those of generated sources
            list(APPEND sources "${folder}/${name}")
        endif()
    endforeach()
    list(REMOVE_DUPLICATES sources)
    set(${variable} ${sources} PARENT_SCOPE)
endfunction()

# Our own flags, and none that a project sets for all of its targets and that these sources do not expect.
function(cushim_configure target)
    set_target_properties(${target} PROPERTIES
        C_STANDARD 11 C_STANDARD_REQUIRED ON C_EXTENSIONS OFF
        CXX_STANDARD 20 CXX_STANDARD_REQUIRED ON CXX_EXTENSIONS OFF
        C_VISIBILITY_PRESET hidden CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN OFF
        POSITION_INDEPENDENT_CODE ON
        UNITY_BUILD OFF AUTOMOC OFF AUTOUIC OFF AUTORCC OFF
        C_CLANG_TIDY "" C_CPPCHECK "" C_CPPLINT "" C_INCLUDE_WHAT_YOU_USE ""
        CXX_CLANG_TIDY "" CXX_CPPCHECK "" CXX_CPPLINT "" CXX_INCLUDE_WHAT_YOU_USE ""
        EXCLUDE_FROM_ALL ${cushim_is_part}
        FOLDER cushim)
    target_compile_options(${target} PRIVATE ${ARGN} ${cushim_quiet})
endfunction()

# The same for sources in C, without the options that a project sets for all of its targets but that are C++'s.
function(cushim_configure_c target)
    get_target_property(options ${target} COMPILE_OPTIONS)
    if(options)
        list(FILTER options EXCLUDE REGEX
            "^([-/]std[=:](c|gnu)\\+\\+|-stdlib=|-f(no-)?(rtti|exceptions)$|/(EH|GR)|-W[a-z0-9+=-]*$)")
        set_target_properties(${target} PROPERTIES COMPILE_OPTIONS "${options}")
    endif()
    cushim_configure(${target} ${ARGN})
endfunction()

# --- the tables
set(cushim_generated "${CMAKE_CURRENT_BINARY_DIR}/include/cushim/detail")
set(cushim_generated_files "")
foreach(cushim_name
    driver_headers.h driver_slots.h driver_first_calls.h driver_table.hpp driver_entries.hpp
    runtime_headers.h runtime_slots.h runtime_first_calls.h runtime_table.hpp runtime_entries.hpp
    driver_rows.c driver_registry.c runtime_rows.c runtime_registry.c
    driver_slot_table.h driver_slot_table.inc runtime_slot_table.h runtime_slot_table.inc error_codes.inc rows.json)
    list(APPEND cushim_generated_files "${cushim_generated}/${cushim_name}")
endforeach()
# The drop-in has a source for each topic.
set(cushim_topics_file "${cushim_root}/tools/tables/topics.txt")
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${cushim_topics_file}")
set(cushim_dropin_driver_sources "")
set(cushim_dropin_sources "")
file(STRINGS "${cushim_topics_file}" cushim_topics REGEX "^[a-z]")
foreach(cushim_topic IN LISTS cushim_topics)
    string(REGEX REPLACE " .*" "" cushim_topic "${cushim_topic}")
    list(APPEND cushim_dropin_driver_sources "${cushim_generated}/dropin_driver_${cushim_topic}.c")
    list(APPEND cushim_dropin_sources "${cushim_generated}/dropin_runtime_${cushim_topic}.c")
endforeach()
list(APPEND cushim_generated_files ${cushim_dropin_driver_sources} ${cushim_dropin_sources})
set(cushim_folder_options "")
foreach(cushim_folder IN LISTS cushim_cuda_folders)
    list(APPEND cushim_folder_options --include "${cushim_folder}")
endforeach()
set(cushim_generate "${cushim_python}" "${cushim_root}/tools/generate_tables.py"
    --style ${cushim_style} ${cushim_folder_options})
# Generators that know no dependency files generate the tables again only if these scripts change.
set(cushim_depfile --depfile "${CMAKE_CURRENT_BINARY_DIR}/tables.d")
set(cushim_depfile_option DEPFILE "${CMAKE_CURRENT_BINARY_DIR}/tables.d")
if(NOT CMAKE_GENERATOR MATCHES "Ninja|Makefiles")
    set(cushim_depfile "")
    set(cushim_depfile_option "")
endif()
file(GLOB cushim_scripts CONFIGURE_DEPENDS "${cushim_root}/tools/tables/*.py")
# Files that would not change keep their time, so only the stamp shows that they are up to date.
set(cushim_stamp "${CMAKE_CURRENT_BINARY_DIR}/tables.stamp")
add_custom_command(
    OUTPUT "${cushim_stamp}"
    BYPRODUCTS ${cushim_generated_files}
    COMMAND ${cushim_generate} --output "${cushim_generated}" --stamp "${cushim_stamp}" ${cushim_depfile}
            -- "${CMAKE_CXX_COMPILER}" ${cushim_flags}
    DEPENDS "${cushim_root}/tools/generate_tables.py" "${cushim_root}/tools/tables/introduced.txt" "${cushim_topics_file}" ${cushim_scripts}
    ${cushim_depfile_option}
    COMMENT "Generating cushim's tables from the headers of CUDA ${cushim_cuda_major}.${cushim_cuda_minor}"
    VERBATIM)
add_custom_target(cushim_tables DEPENDS "${cushim_stamp}")

# introduced.txt has the versions of names up to a CUDA version, for headers without cudaTypedefs.h.
file(STRINGS "${cushim_root}/tools/tables/introduced.txt" cushim_up_to REGEX "^up_to " LIMIT_COUNT 1)
string(REGEX REPLACE "[^0-9]" "" cushim_up_to "${cushim_up_to}")
if(cushim_cuda_version GREATER cushim_up_to)
    execute_process(COMMAND ${cushim_generate} --list-unknown -- "${CMAKE_CXX_COMPILER}" ${cushim_flags}
        OUTPUT_VARIABLE cushim_unknown)
    if(cushim_unknown)
        string(REPLACE "\n" "\n  " cushim_unknown "${cushim_unknown}")
        message(WARNING "cushim: the CUDA headers come without cudaTypedefs.h and are newer than the released versions "
            "that cushim knows. Where a driver lacks one of these, the error is symbol_not_found instead of "
            "requires_newer_driver:\n  ${cushim_unknown}")
    endif()
endif()

# What every source that includes the tables needs.
add_library(cushim_headers INTERFACE)
add_dependencies(cushim_headers cushim_tables)
target_include_directories(cushim_headers SYSTEM INTERFACE
    "${cushim_root}/include" "${CMAKE_CURRENT_BINARY_DIR}/include" ${cushim_cuda_folders})
if(NOT CUSHIM_SHARED)
    target_compile_definitions(cushim_headers INTERFACE CUSHIM_STATIC)
endif()
set(cushim_definitions
    CUSHIM_CUDA_VERSION=${cushim_cuda_version} CUSHIM_VERSION_TEXT="${cushim_version}")

# --- cushim::core
set(cushim_core_sources "")
cushim_sources(cushim_core_sources "${cushim_root}/src/loader")
set(cushim_core_definitions ${cushim_definitions} CUSHIM_BUILDING_CORE CUSHIM_CUDA_MAJOR=${cushim_cuda_major})
add_library(cushim_rows OBJECT
    "${cushim_generated}/driver_rows.c" "${cushim_generated}/driver_registry.c"
    "${cushim_generated}/runtime_rows.c" "${cushim_generated}/runtime_registry.c")
cushim_configure_c(cushim_rows ${cushim_core_options} ${cushim_rows_options})
set_target_properties(cushim_rows PROPERTIES INTERPROCEDURAL_OPTIMIZATION OFF) # as in ../../src/loader/meson.build
target_compile_definitions(cushim_rows PRIVATE ${cushim_core_definitions})
target_include_directories(cushim_rows PRIVATE "${cushim_root}/src/loader")
target_link_libraries(cushim_rows PRIVATE cushim_headers)

set(cushim_threads "")
if(NOT WIN32)
    set(cushim_threads Threads::Threads ${CMAKE_DL_LIBS})
endif()
set(cushim_kind STATIC)
if(CUSHIM_SHARED)
    set(cushim_kind SHARED)
endif()
add_library(cushim_core ${cushim_kind} ${cushim_core_sources} $<TARGET_OBJECTS:cushim_rows>)
cushim_configure_c(cushim_core ${cushim_core_options})
set_target_properties(cushim_core PROPERTIES OUTPUT_NAME cushim-core)
target_compile_definitions(cushim_core PRIVATE ${cushim_core_definitions})
target_include_directories(cushim_core PRIVATE "${cushim_generated}")
target_link_libraries(cushim_core PUBLIC cushim_headers PRIVATE ${cushim_threads})
if(CUSHIM_SHARED)
    set_target_properties(cushim_core PROPERTIES DEFINE_SYMBOL "" VERSION ${cushim_version} SOVERSION 0)
    if(NOT WIN32) # as in ../../src/loader/meson.build
        set(version "CUSHIM_CUDA_${cushim_cuda_major}")
        configure_file("${cushim_root}/src/loader/exported.map.in" "${CMAKE_CURRENT_BINARY_DIR}/cushim-core.map" @ONLY)
        target_link_options(cushim_core PRIVATE LINKER:-z,nodelete
            "LINKER:--version-script=${CMAKE_CURRENT_BINARY_DIR}/cushim-core.map")
    endif()
    if(cushim_landing_pads AND NOT WIN32)
        target_link_options(cushim_core PRIVATE LINKER:-Bsymbolic)
    endif()
endif()
if("CXX" IN_LIST cushim_languages) # a project with C only has no C++ features
    target_compile_features(cushim_core INTERFACE cxx_std_20)
endif()
add_library(cushim::core ALIAS cushim_core)

# CMake knows no order between two files. Under a path that no other target uses, the library of cushim::core follows
# an archive that needs it even if the program names cushim::core first.
macro(cushim_core_again variable)
    get_property(cushim_dots DIRECTORY PROPERTY cushim_dots)
    string(APPEND cushim_dots "./")
    set_property(DIRECTORY PROPERTY cushim_dots "${cushim_dots}")
    set(${variable} "$<TARGET_LINKER_FILE_DIR:cushim_core>/${cushim_dots}")
    string(APPEND ${variable} "$<TARGET_LINKER_FILE_NAME:cushim_core>")
endmacro()

# --- cushim::cushim
include(further_libraries.cmake) # cushim::nvml...
set(cushim_api_sources "")
file(GLOB cushim_lists CONFIGURE_DEPENDS "${cushim_root}/src/api/*/meson.build")
if(NOT cushim_wrapped)
    list(FILTER cushim_lists EXCLUDE REGEX "/libraries/meson\\.build$")
endif()
foreach(cushim_list IN LISTS cushim_lists)
    get_filename_component(cushim_folder "${cushim_list}" DIRECTORY)
    cushim_sources(cushim_api_sources "${cushim_folder}")
endforeach()
if(WIN32)
    list(FILTER cushim_api_sources EXCLUDE REGEX "/platform/posix[a-z_]*\\.cpp$")
else()
    list(FILTER cushim_api_sources EXCLUDE REGEX "/platform/windows\\.cpp$")
endif()
if(NOT cushim_wrapped MATCHES "nvrtc|nvjitlink")
    list(FILTER cushim_api_sources EXCLUDE REGEX "/libraries/(code_bytes|toolchain)\\.cpp$")
endif()
add_library(cushim ${cushim_kind} ${cushim_api_sources})
# A plugin with symbols that are unique in the process is never unloaded.
cushim_configure(cushim ${cushim_exceptions_options} ${cushim_landing_pads} ${cushim_sections}
    $<$<CXX_COMPILER_ID:GNU>:-fno-gnu-unique>)
target_compile_definitions(cushim PRIVATE CUSHIM_BUILDING)
target_include_directories(cushim PRIVATE "${cushim_root}/src/api")
target_precompile_headers(cushim PRIVATE "${cushim_root}/src/api/pch/cushim.hpp")
target_link_libraries(cushim PUBLIC cushim_core)
foreach(cushim_name IN LISTS cushim_wrapped)
    target_sources(cushim PRIVATE "${cushim_root}/src/api/libraries/${cushim_name}.cpp")
    target_link_libraries(cushim PRIVATE cushim_${cushim_name})
    add_dependencies(cushim cushim_${cushim_name}_table) # also for users of the wrappers' headers
endforeach()
if(CUSHIM_SHARED)
    set_target_properties(cushim PROPERTIES DEFINE_SYMBOL "" VERSION ${cushim_version} SOVERSION 0)
    if(NOT WIN32)
        set_target_properties(cushim PROPERTIES INSTALL_RPATH "$ORIGIN")
    endif()
    if(NOT WIN32 AND NOT APPLE)
        target_link_options(cushim PRIVATE "LINKER:--version-script=${cushim_root}/src/api/exported.map")
        set_property(TARGET cushim APPEND PROPERTY LINK_DEPENDS "${cushim_root}/src/api/exported.map")
    endif()
endif()
add_library(cushim::cushim ALIAS cushim)

# --- cushim::dropin, cushim::dropin_driver, cushim::dropin_exported: always archives. Existing code requires neither
# C++20 nor cushim's headers, so of cushim::core they pass on only what is linked.
cushim_sources(cushim_dropin_sources "${cushim_root}/src/dropin")

function(cushim_add_dropin name)
    set(archive cushim_${name}_archive)
    string(REPLACE "_" "-" file "cushim-${name}")
    add_library(${archive} STATIC ${ARGN})
    cushim_configure_c(${archive} ${cushim_dropin_options})
    set_target_properties(${archive} PROPERTIES OUTPUT_NAME ${file} INTERPROCEDURAL_OPTIMIZATION OFF)
    target_compile_definitions(${archive} PRIVATE ${cushim_definitions})
    target_include_directories(${archive} PRIVATE "${cushim_root}/src/dropin")
    target_link_libraries(${archive} PRIVATE cushim_headers)
    add_library(cushim_${name} INTERFACE)
    add_dependencies(cushim_${name} ${archive})
    target_include_directories(cushim_${name} SYSTEM INTERFACE ${cushim_cuda_folders})
    cushim_core_again(core)
    target_link_libraries(cushim_${name} INTERFACE $<TARGET_FILE:${archive}> ${core} $<LINK_ONLY:cushim_core>)
    cushim_remove_unused(cushim_${name})
    add_library(cushim::${name} ALIAS cushim_${name})
endfunction()
cushim_add_dropin(dropin_driver ${cushim_dropin_driver_sources})
cushim_add_dropin(dropin ${cushim_dropin_driver_sources} ${cushim_dropin_sources})

set(cushim_version_script "")
if(NOT WIN32)
    cushim_add_dropin(dropin_exported ${cushim_dropin_driver_sources} ${cushim_dropin_sources})
    set(version CUSHIM_${cushim_cuda_major})
    set_target_properties(cushim_dropin_exported_archive PROPERTIES C_VISIBILITY_PRESET default)
    target_compile_definitions(cushim_dropin_exported_archive PRIVATE CUSHIM_DROPIN_VERSION="${version}")
    set(cushim_version_script "${CMAKE_CURRENT_BINARY_DIR}/cushim-dropin-exported.map")
    configure_file("${cushim_root}/src/dropin/exported.map.in" "${cushim_version_script}" @ONLY)
    # The linkers that need the script for the symbol version: src/dropin/meson.build.
    separate_arguments(cushim_link_flags NATIVE_COMMAND "${CMAKE_EXE_LINKER_FLAGS}")
    execute_process(COMMAND "${CMAKE_CXX_COMPILER}" ${cushim_flags} ${cushim_link_flags} -Wl,--version
        OUTPUT_VARIABLE cushim_linker ERROR_VARIABLE cushim_linker)
    if("${cushim_linker} ${CMAKE_LINKER_TYPE}" MATCHES "LLD|mold|MOLD")
        target_link_options(cushim_dropin_exported INTERFACE "LINKER:--version-script=${cushim_version_script}")
    endif()
endif()
