# The further libraries of CUSHIM_LIBRARIES, as in ../../src/libraries/meson.build: cushim::nvml, cushim::nvml_dropin...
# Sets cushim_libraries, their names, and cushim_wrapped, those that have wrappers in cushim::cushim.

set_target_properties(cushim_core PROPERTIES
    CUSHIM_PYTHON "${cushim_python}"
    CUSHIM_GENERATOR "${cushim_root}/tools/generate_library.py"
    CUSHIM_CUDA_FOLDERS "${cushim_cuda_folders}")

set(cushim_library_folders "")
foreach(cushim_folder IN LISTS CUSHIM_LIBRARY_HEADERS)
    get_filename_component(cushim_folder "${cushim_folder}" ABSOLUTE BASE_DIR "${CMAKE_SOURCE_DIR}")
    list(APPEND cushim_library_folders "${cushim_folder}")
endforeach()

# cushim_add_library(name description): archives, linked through interface libraries as that of cushim::core is. An
# archive is compiled alike for both kinds of cushim::core.
function(cushim_add_library name description)
    cushim_generate_library(${name} "${description}" "${CMAKE_CURRENT_BINARY_DIR}/include/cushim"
        ${cushim_library_folders})
    add_custom_target(cushim_${name}_table DEPENDS ${cushim_table_files} "${cushim_dropin_file}")
    set(table cushim_${name}_archive)
    add_library(${table} STATIC ${cushim_table_files})
    cushim_configure(${table} ${cushim_core_options} ${cushim_no_runtime_options} ${cushim_rows_options})
    target_compile_definitions(${table} PRIVATE ${cushim_definitions} CUSHIM_CUDA_MAJOR=${cushim_cuda_major})

    set(dropin cushim_${name}_dropin_archive)
    add_library(${dropin} STATIC "${cushim_dropin_file}")
    cushim_configure(${dropin} ${cushim_no_runtime_options} ${cushim_dropin_options})
    set_target_properties(${dropin} PROPERTIES INTERPROCEDURAL_OPTIMIZATION OFF)

    foreach(kind "" _dropin)
        set(archive cushim_${name}${kind}_archive)
        string(REPLACE "_" "-" suffix "${kind}")
        set_target_properties(${archive} PROPERTIES OUTPUT_NAME "cushim-${name}${suffix}")
        target_include_directories(${archive} SYSTEM PRIVATE
            "${cushim_root}/include" "${CMAKE_CURRENT_BINARY_DIR}/include"
            ${cushim_library_folders} ${cushim_cuda_folders})
        if(WIN32)
            target_compile_definitions(${archive} PRIVATE CUSHIM_STATIC)
        endif()
        add_dependencies(${archive} cushim_tables cushim_${name}_table)
        add_library(cushim_${name}${kind} INTERFACE)
        add_dependencies(cushim_${name}${kind} ${archive})
        target_include_directories(cushim_${name}${kind} SYSTEM INTERFACE
            ${cushim_library_folders} ${cushim_cuda_folders})
        add_library(cushim::${name}${kind} ALIAS cushim_${name}${kind})
    endforeach()
    cushim_core_again(core)
    target_link_libraries(cushim_${name} INTERFACE $<TARGET_FILE:${table}> ${core} cushim_core)
    target_link_libraries(cushim_${name}_dropin INTERFACE $<TARGET_FILE:${dropin}> $<LINK_ONLY:cushim_${name}>)
    cushim_remove_unused(cushim_${name}_dropin)
endfunction()

set(cushim_libraries "")
set(cushim_wrapped "")
if(CUSHIM_LIBRARIES)
    cushim_library_generator(cushim_library_command ${cushim_library_folders})
endif()
foreach(cushim_wanted IN LISTS CUSHIM_LIBRARIES)
    set(cushim_described "${cushim_wanted}")
    if(cushim_wanted STREQUAL "all")
        execute_process(COMMAND ${cushim_library_command} --list OUTPUT_VARIABLE cushim_described)
        string(REGEX MATCHALL "[^\r\n]+" cushim_described "${cushim_described}")
    endif()
    foreach(cushim_description IN LISTS cushim_described)
        if(cushim_description MATCHES "\\.txt$")
            get_filename_component(cushim_description "${cushim_description}" ABSOLUTE BASE_DIR "${CMAKE_SOURCE_DIR}")
        endif()
        execute_process(
            COMMAND ${cushim_library_command} --probe "${cushim_description}" -- "${CMAKE_CXX_COMPILER}" ${cushim_flags}
            RESULT_VARIABLE cushim_status OUTPUT_QUIET ERROR_VARIABLE cushim_reason)
        string(REGEX REPLACE "^generate_library: |\n$" "" cushim_reason "${cushim_reason}")
        if(NOT cushim_status EQUAL 0 AND cushim_wanted STREQUAL "all")
            message(STATUS "cushim: ${cushim_reason}")
            continue()
        elseif(NOT cushim_status EQUAL 0)
            if(cushim_reason MATCHES "was not found in")
                string(APPEND cushim_reason "\n  CUSHIM_LIBRARY_HEADERS names more folders of headers")
            endif()
            message(FATAL_ERROR "cushim: CUSHIM_LIBRARIES: ${cushim_reason}")
        endif()
        if(NOT cushim_description MATCHES "\\.txt$")
            set(cushim_description "${cushim_root}/tools/tables/libraries/${cushim_description}.txt")
        endif()
        get_filename_component(cushim_name "${cushim_description}" NAME_WE)
        if(cushim_name IN_LIST cushim_libraries)
            continue()
        endif()
        set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${cushim_description}")
        cushim_add_library(${cushim_name} "${cushim_description}")
        list(APPEND cushim_libraries ${cushim_name})
        if(EXISTS "${cushim_root}/include/cushim/${cushim_name}.hpp"
           AND EXISTS "${cushim_root}/src/api/libraries/${cushim_name}.cpp")
            list(APPEND cushim_wrapped ${cushim_name})
        endif()
    endforeach()
endforeach()
