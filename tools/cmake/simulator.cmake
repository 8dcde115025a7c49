# The simulated driver and runtime of ../simulator: the pair that Meson installs, in one folder, under the names that
# cushim's search finds. The properties of cushim::core are for cushim-test.cmake.

# --- names: ../simulator/variants/meson.build
set(cushim_sim_root "${cushim_root}/tools/simulator")
set(cushim_sim_output "${CMAKE_CURRENT_BINARY_DIR}/simulator")
set(cushim_soversion ${cushim_cuda_major})
if(WIN32)
    if(cushim_cuda_major EQUAL 11)
        set(cushim_soversion 110)
    endif()
    set(cushim_driver_name nvcuda .dll)
    set(cushim_runtime_name cudart64_${cushim_soversion} .dll)
    set(cushim_symbols_format windows)
    set(cushim_symbols_suffix .def)
    set(cushim_sim_platform platform_windows.cpp)
else()
    if(cushim_cuda_major EQUAL 11)
        set(cushim_soversion 11.0)
    endif()
    set(cushim_driver_name libcuda .so.1)
    set(cushim_runtime_name libcudart .so.${cushim_soversion})
    set(cushim_symbols_format elf)
    set(cushim_symbols_suffix .map)
    set(cushim_sim_platform platform_posix.cpp)
endif()
string(REPLACE ";" "" cushim_driver_file "${cushim_driver_name}")
string(REPLACE ";" "" cushim_runtime_file "${cushim_runtime_name}")

# --- sources
foreach(cushim_part IN ITEMS driver runtime)
    set(cushim_${cushim_part}_sources "${cushim_sim_root}/${cushim_part}/base/${cushim_sim_platform}")
    file(GLOB cushim_lists CONFIGURE_DEPENDS "${cushim_sim_root}/${cushim_part}/*/meson.build")
    foreach(cushim_list IN LISTS cushim_lists)
        get_filename_component(cushim_folder "${cushim_list}" DIRECTORY)
        cushim_sources(cushim_${cushim_part}_sources "${cushim_folder}")
    endforeach()
endforeach()

set(cushim_definitions_of_exports ${cushim_driver_sources} ${cushim_runtime_sources}
    "${cushim_sim_root}/driver/graph/graph_nodes.hpp" "${cushim_sim_root}/driver/forwarded.txt"
    "${cushim_sim_root}/driver/unsafe_in_captures.txt"
    "${cushim_sim_root}/runtime/forward/forward.hpp" "${cushim_sim_root}/runtime/forward/forwarded.txt")
cushim_sources(cushim_driver_sources "${cushim_sim_root}/ptx")

set(cushim_exports_script "${cushim_sim_root}/exports/generate_exports.py")
set(cushim_exports "${CMAKE_CURRENT_BINARY_DIR}/exports")
file(MAKE_DIRECTORY "${cushim_exports}")

# cushim_export(JOB FILES... ARGUMENTS...): generates files from rows.json and the sources.
function(cushim_export job files)
    set(outputs "")
    foreach(file IN LISTS files)
        list(APPEND outputs "${cushim_exports}/${file}")
    endforeach()
    cmake_parse_arguments(PARSE_ARGV 2 export "" "API" "OPTIONS;SOURCES")
    # Relative names, since command lines of Windows are short.
    string(REPLACE "${cushim_sim_root}/" "" sources "${export_SOURCES}")
    add_custom_command(
        OUTPUT ${outputs}
        COMMAND "${cushim_python}" "${cushim_exports_script}" ${job} ${export_API} "${cushim_generated}/rows.json"
                ${outputs} ${export_OPTIONS} ${sources}
        COMMAND "${CMAKE_COMMAND}" -E touch ${outputs} # those that have not changed
        WORKING_DIRECTORY "${cushim_sim_root}"
        DEPENDS "${cushim_exports_script}" "${cushim_generated}/rows.json" ${export_SOURCES}
        COMMENT "Generating the ${job} of the simulated ${export_API}"
        VERBATIM)
endfunction()
foreach(cushim_api driver runtime)
    cushim_export(functions ${cushim_api}_functions.hpp API ${cushim_api})
    cushim_export(exports "${cushim_api}_exports.cpp;${cushim_api}_rows.cpp" API ${cushim_api}
        SOURCES ${cushim_definitions_of_exports})
endforeach()
cushim_export(symbols driver${cushim_symbols_suffix} API driver
    OPTIONS --format ${cushim_symbols_format} --version ${cushim_cuda_version})
cushim_export(symbols runtime${cushim_symbols_suffix} API runtime
    OPTIONS --format ${cushim_symbols_format} --version 0 --node ${cushim_runtime_file})

# --- libraries
set(cushim_generated_driver "${cushim_exports}/driver_functions.hpp"
    "${cushim_exports}/driver_exports.cpp" "${cushim_exports}/driver_rows.cpp")
set(cushim_generated_runtime "${cushim_exports}/runtime_functions.hpp" "${cushim_exports}/driver_functions.hpp"
    "${cushim_exports}/runtime_exports.cpp" "${cushim_exports}/runtime_rows.cpp")
set(cushim_sim_includes "${cushim_sim_root}" "${cushim_sim_root}/driver" "${cushim_exports}" "${cushim_generated}")
# Without optimization, a call takes about five times as long; GCC 12 has false warnings: ../simulator/meson.build.
set(cushim_sim_options ${cushim_exceptions_options} -fno-sanitize=enum $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>
    $<$<CXX_COMPILER_ID:GNU>:-Wno-mismatched-new-delete> $<$<CONFIG:,Debug>:-O1>)

# Both use generated files, so these are made before either is compiled.
add_custom_target(cushim_sim_exports DEPENDS ${cushim_generated_driver} ${cushim_generated_runtime}
    "${cushim_exports}/driver${cushim_symbols_suffix}" "${cushim_exports}/runtime${cushim_symbols_suffix}")
add_dependencies(cushim_sim_exports cushim_tables)

# cushim_add_simulated(driver SOURCES...): a library of these and cushim_driver_sources.
function(cushim_add_simulated api)
    set(symbols "${cushim_exports}/${api}${cushim_symbols_suffix}")
    add_library(cushim_sim_${api}_objects OBJECT ${cushim_${api}_sources} ${cushim_generated_${api}})
    cushim_configure(cushim_sim_${api}_objects ${cushim_sim_options})
    target_precompile_headers(cushim_sim_${api}_objects PRIVATE "${cushim_sim_root}/pch/${api}.hpp")
    if(WIN32)
        list(APPEND ARGN "${symbols}")
    endif()
    add_library(cushim_sim_${api} SHARED ${ARGN} $<TARGET_OBJECTS:cushim_sim_${api}_objects>)
    cushim_configure(cushim_sim_${api})
    foreach(target cushim_sim_${api}_objects cushim_sim_${api})
        target_include_directories(${target} PRIVATE ${cushim_sim_includes})
        target_include_directories(${target} SYSTEM PRIVATE ${cushim_cuda_folders})
        add_dependencies(${target} cushim_sim_exports)
    endforeach()
    list(GET cushim_${api}_name 0 name)
    list(GET cushim_${api}_name 1 suffix)
    set_target_properties(cushim_sim_${api} PROPERTIES
        PREFIX "" OUTPUT_NAME ${name} SUFFIX ${suffix} DEBUG_POSTFIX "" LINKER_LANGUAGE CXX DEFINE_SYMBOL ""
        # One folder for every configuration.
        LIBRARY_OUTPUT_DIRECTORY "$<1:${cushim_sim_output}>" RUNTIME_OUTPUT_DIRECTORY "$<1:${cushim_sim_output}>"
        ARCHIVE_OUTPUT_DIRECTORY "$<1:${cushim_sim_output}>")
    target_link_libraries(cushim_sim_${api} PRIVATE ${cushim_threads})
    if(WIN32)
        target_link_options(cushim_sim_${api} PRIVATE -static)
    else()
        target_link_options(cushim_sim_${api} PRIVATE LINKER:-Bsymbolic "LINKER:--version-script=${symbols}")
        set_target_properties(cushim_sim_${api} PROPERTIES LINK_DEPENDS "${symbols}")
    endif()
endfunction()
cushim_add_simulated(driver "${cushim_sim_root}/variants/variant.cpp")
target_compile_definitions(cushim_sim_driver PRIVATE
    SIM_VARIANT_VERSION=${cushim_cuda_version} SIM_VARIANT_IS_STUB=0 SIM_VARIANT_LACKS="")
cushim_add_simulated(runtime)
add_custom_target(cushim_simulator)
add_dependencies(cushim_simulator cushim_sim_driver cushim_sim_runtime)

# In an emulated Windows, files of the build machine are on a separate drive.
set(cushim_drive "")
if(WIN32 AND NOT CMAKE_HOST_WIN32)
    set(cushim_drive "Z:")
endif()
set_target_properties(cushim_core PROPERTIES
    CUSHIM_SIM_TARGET cushim_simulator
    CUSHIM_SIM_DRIVER "${cushim_drive}${cushim_sim_output}/${cushim_driver_file}"
    CUSHIM_SIM_RUNTIME "${cushim_drive}${cushim_sim_output}/${cushim_runtime_file}")
