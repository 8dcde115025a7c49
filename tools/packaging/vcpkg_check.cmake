# cmake -DPORT=FOLDER -DARCHIVE=FILE -DHEADERS=FOLDER -DWORK=FOLDER -P vcpkg_check.cmake: runs the portfile with stand-ins
# for vcpkg's functions, which do what vcpkg does for this port on 64-bit x86 Linux. Leaves the package in
# WORK/installed. Where vcpkg itself is at hand (VCPKG_ROOT), tools/dev packaging uses that instead.
cmake_minimum_required(VERSION 3.19)

file(READ "${PORT}/vcpkg.json" manifest)
string(JSON PORT_NAME GET "${manifest}" name)
string(JSON VERSION GET "${manifest}" version)
set(CURRENT_PACKAGES_DIR "${WORK}/installed")
set(CMAKE_CURRENT_LIST_DIR "${PORT}")
set(PORT ${PORT_NAME})
set(FEATURES core tools)
set(CUSHIM_HEADERS_DIR "${HEADERS}") # as a triplet sets it
file(REMOVE_RECURSE "${WORK}")
file(MAKE_DIRECTORY "${WORK}")

function(run)
    execute_process(COMMAND ${ARGN} COMMAND_ERROR_IS_FATAL ANY OUTPUT_FILE "${WORK}/log.txt")
endfunction()

function(vcpkg_download_distfile out)
    cmake_parse_arguments(PARSE_ARGV 1 arg "" "FILENAME;SHA512" "URLS")
    file(SHA512 "${ARCHIVE}" hash)
    get_filename_component(name "${ARCHIVE}" NAME)
    if(NOT hash STREQUAL arg_SHA512 OR NOT name STREQUAL arg_FILENAME)
        message(FATAL_ERROR "the portfile names another archive: ${arg_FILENAME}, ${arg_SHA512}")
    endif()
    set(${out} "${ARCHIVE}" PARENT_SCOPE)
endfunction()

function(vcpkg_extract_source_archive out)
    cmake_parse_arguments(PARSE_ARGV 1 arg "" "ARCHIVE" "")
    file(ARCHIVE_EXTRACT INPUT "${arg_ARCHIVE}" DESTINATION "${WORK}/src")
    set(${out} "${WORK}/src/${PORT}-${VERSION}" PARENT_SCOPE)
endfunction()

function(vcpkg_find_acquire_program name)
    find_program(${name} python3 REQUIRED)
    set(${name} "${${name}}" PARENT_SCOPE)
endfunction()

function(vcpkg_add_to_path folder)
    set(ENV{PATH} "$ENV{PATH}:${folder}")
endfunction()

function(vcpkg_find_cuda)
    message(FATAL_ERROR "the feature toolkit is off")
endfunction()

function(vcpkg_configure_meson)
    cmake_parse_arguments(PARSE_ARGV 0 arg "" "SOURCE_PATH" "OPTIONS")
    run(meson setup "${WORK}/build" "${arg_SOURCE_PATH}" ${arg_OPTIONS} --backend ninja --wrap-mode nodownload
        -Doptimization=plain --buildtype release -Ddefault_library=static -Doptimization=0
        --prefix "${CURRENT_PACKAGES_DIR}" --libdir lib)
endfunction()

function(vcpkg_install_meson)
    run(ninja -C "${WORK}/build" -j 2 install)
endfunction()

# The paths of the files are made relative, so that the package can be moved.
function(vcpkg_fixup_pkgconfig)
    file(GLOB files "${CURRENT_PACKAGES_DIR}/lib/pkgconfig/*.pc")
    if(NOT files)
        message(FATAL_ERROR "no file for pkg-config")
    endif()
    foreach(file IN LISTS files)
        vcpkg_replace_string("${file}" "prefix=${CURRENT_PACKAGES_DIR}" "prefix=\${pcfiledir}/../..")
    endforeach()
endfunction()

function(vcpkg_cmake_config_fixup)
    cmake_parse_arguments(PARSE_ARGV 0 arg "" "CONFIG_PATH" "")
    file(GLOB files "${CURRENT_PACKAGES_DIR}/${arg_CONFIG_PATH}/*")
    file(COPY ${files} DESTINATION "${CURRENT_PACKAGES_DIR}/share/${PORT}")
    file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/lib/cmake")
endfunction()

function(vcpkg_replace_string file old new)
    file(READ "${file}" text)
    string(REPLACE "${old}" "${new}" replaced "${text}")
    if(text STREQUAL replaced)
        message(FATAL_ERROR "${file} does not contain ${old}")
    endif()
    file(WRITE "${file}" "${replaced}")
endfunction()

function(vcpkg_copy_tools)
    cmake_parse_arguments(PARSE_ARGV 0 arg "AUTO_CLEAN" "" "TOOL_NAMES")
    foreach(name IN LISTS arg_TOOL_NAMES)
        file(INSTALL "${CURRENT_PACKAGES_DIR}/bin/${name}" DESTINATION "${CURRENT_PACKAGES_DIR}/tools/${PORT}"
            USE_SOURCE_PERMISSIONS)
    endforeach()
    file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/bin")
endfunction()

function(vcpkg_install_copyright)
    cmake_parse_arguments(PARSE_ARGV 0 arg "" "" "FILE_LIST")
    file(INSTALL ${arg_FILE_LIST} DESTINATION "${CURRENT_PACKAGES_DIR}/share/${PORT}" RENAME copyright)
endfunction()

include("${CMAKE_CURRENT_LIST_DIR}/portfile.cmake")

# What vcpkg checks after the build.
file(GLOB_RECURSE files RELATIVE "${CURRENT_PACKAGES_DIR}" "${CURRENT_PACKAGES_DIR}/*")
foreach(wanted IN ITEMS share/${PORT}/copyright share/${PORT}/usage share/${PORT}/${PORT}-config.cmake
        tools/${PORT}/cushim-info)
    if(NOT wanted IN_LIST files)
        message(FATAL_ERROR "the package has no ${wanted}")
    endif()
endforeach()
foreach(file IN LISTS files)
    if(file MATCHES "^(bin|debug)/|^lib/cmake/")
        message(FATAL_ERROR "misplaced: ${file}")
    endif()
    if(file MATCHES "\\.(pc|cmake|h|hpp)$")
        file(READ "${CURRENT_PACKAGES_DIR}/${file}" text)
        string(FIND "${text}" "${CURRENT_PACKAGES_DIR}" at)
        if(NOT at EQUAL -1)
            message(FATAL_ERROR "${file} contains the absolute path of the package")
        endif()
    endif()
endforeach()
