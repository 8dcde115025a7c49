# cushim_add_library_table(TARGET DESCRIPTION [INCLUDE folder...])
#
# Adds the table of any library as the static library TARGET, and its drop-in as TARGET_dropin. DESCRIPTION is a file
# NAME.txt (its format: tools/tables/README.md of cushim), and INCLUDE names the folders of the library's headers.

# Ninja compares the paths in a dependency file with those in its build file, which CMake then makes equal.
if(POLICY CMP0116)
    cmake_policy(SET CMP0116 NEW)
endif()

# In the variable, what follows the compiler in a command that reads headers as the project's sources do.
function(cushim_compiler_flags variable)
    separate_arguments(flags NATIVE_COMMAND "${CMAKE_CXX_COMPILER_ARG1} ${CMAKE_CXX_FLAGS}") # CXX="ccache c++"
    if(CMAKE_CXX_COMPILER_TARGET AND CMAKE_CXX_COMPILER_ID MATCHES "Clang")
        list(APPEND flags "--target=${CMAKE_CXX_COMPILER_TARGET}")
    endif()
    if(CMAKE_SYSROOT)
        list(APPEND flags "--sysroot=${CMAKE_SYSROOT}")
    endif()
    set(${variable} ${flags} PARENT_SCOPE)
endfunction()

# In the variable, the start of the generator's command, with the folders that it searches for headers.
function(cushim_library_generator variable)
    get_target_property(python cushim::core CUSHIM_PYTHON)
    if(NOT python)
        find_package(Python3 REQUIRED COMPONENTS Interpreter)
        set(python "${Python3_EXECUTABLE}")
    endif()
    get_target_property(generator cushim::core CUSHIM_GENERATOR)
    set(command "${python}" "${generator}" --style gcc)
    if(MSVC)
        set(command "${python}" "${generator}" --style msvc)
    endif()
    get_target_property(cuda_folders cushim::core CUSHIM_CUDA_FOLDERS)
    foreach(folder IN LISTS ARGN cuda_folders)
        if(folder)
            list(APPEND command --include "${folder}")
        endif()
    endforeach()
    set(${variable} ${command} PARENT_SCOPE)
endfunction()

# cushim_generate_library(name description folder headers_folder...): the command that writes the files of a library
# into the folder. Sets cushim_table_files, the first of which is a header, and cushim_dropin_file.
function(cushim_generate_library name description folder)
    cushim_library_generator(generator ${ARGN})
    cushim_compiler_flags(flags)
    set(files library.h table.hpp entry.hpp loadable.cpp rows.cpp registry.cpp)
    list(TRANSFORM files PREPEND "${folder}/${name}_")
    set(dropin "${folder}/${name}_dropin.cpp")
    set(depfile "")
    set(depfile_option "")
    # Makefile generators know dependency files since CMake 3.20.
    if(CMAKE_GENERATOR MATCHES "Ninja|Makefiles" AND NOT CMAKE_VERSION VERSION_LESS 3.20)
        set(depfile DEPFILE "${folder}/${name}.d")
        set(depfile_option --depfile "${folder}/${name}.d")
    endif()
    add_custom_command(
        OUTPUT ${files} "${dropin}"
        COMMAND ${generator} --output "${folder}" ${depfile_option} "${description}"
                -- "${CMAKE_CXX_COMPILER}" ${flags}
        COMMAND "${CMAKE_COMMAND}" -E touch ${files} "${dropin}" # those that have not changed
        DEPENDS "${description}" ${depfile}
        COMMENT "Generating the table of ${name}"
        VERBATIM)
    set(cushim_table_files ${files} PARENT_SCOPE)
    set(cushim_dropin_file "${dropin}" PARENT_SCOPE)
endfunction()

# Programs that link a drop-in contain only the functions that they call.
function(cushim_remove_unused target)
    if(MSVC OR APPLE) # the linkers of both have another option
        return()
    endif()
    set(option LINKER:--gc-sections)
    if(NOT CMAKE_VERSION VERSION_LESS 3.18) # earlier ones pass no options to the linker of device code
        set(option "$<HOST_LINK:${option}>")
    endif()
    set_property(TARGET ${target} APPEND PROPERTY INTERFACE_LINK_OPTIONS "${option}")
endfunction()

function(cushim_add_library_table target description)
    cmake_parse_arguments(PARSE_ARGV 2 given "" "" INCLUDE)
    get_filename_component(description "${description}" ABSOLUTE)
    get_filename_component(name "${description}" NAME_WE)
    set(folder "${CMAKE_CURRENT_BINARY_DIR}/${target}.files")
    set(includes "")
    foreach(include IN LISTS given_INCLUDE)
        get_filename_component(include "${include}" ABSOLUTE)
        list(APPEND includes "${include}")
    endforeach()
    cushim_generate_library(${name} "${description}" "${folder}" ${includes})
    add_library(${target} STATIC ${cushim_table_files})
    target_link_libraries(${target} PUBLIC cushim::core)
    add_library(${target}_dropin STATIC "${cushim_dropin_file}")
    target_link_libraries(${target}_dropin PRIVATE ${target})
    cushim_remove_unused(${target}_dropin)
    add_dependencies(${target}_dropin ${target}) # whose build runs the command
    target_include_directories(${target} PUBLIC "${folder}")
    foreach(library ${target} ${target}_dropin)
        target_include_directories(${library} SYSTEM PUBLIC ${includes})
        set_target_properties(${library} PROPERTIES
            POSITION_INDEPENDENT_CODE ON CXX_VISIBILITY_PRESET hidden)
        if(MSVC)
            target_compile_options(${library} PRIVATE /w)
        else()
            # A program contains only the functions that it calls, and a drop-in's function is one jump. The warnings
            # of the project are for its own sources.
            target_compile_options(${library} PRIVATE
                -ffunction-sections -fdata-sections -fno-stack-protector -fno-exceptions -O2 -w)
        endif()
    endforeach()
endfunction()
