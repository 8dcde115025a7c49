vcpkg_download_distfile(ARCHIVE
    URLS "@ARCHIVE_URL@"
    FILENAME "cushim-${VERSION}.tar.xz"
    SHA512 @SHA512@
)
vcpkg_extract_source_archive(SOURCE_PATH ARCHIVE "${ARCHIVE}")

# The generator of the tables is a Python script, which Meson finds in the path.
vcpkg_find_acquire_program(PYTHON3)
get_filename_component(PYTHON3_DIR "${PYTHON3}" DIRECTORY)
vcpkg_add_to_path("${PYTHON3_DIR}")

# Headers only; no CUDA library is linked. Without the toolkit: the folder that the triplet names, or else those
# that cushim searches.
set(HEADERS_DIR "")
if("toolkit" IN_LIST FEATURES)
    vcpkg_find_cuda(OUT_CUDA_TOOLKIT_ROOT CUDA_ROOT)
    set(HEADERS_DIR "${CUDA_ROOT}/include")
elseif(DEFINED CUSHIM_HEADERS_DIR)
    set(HEADERS_DIR "${CUSHIM_HEADERS_DIR}")
endif()

if("tools" IN_LIST FEATURES)
    set(TOOLS enabled)
else()
    set(TOOLS disabled)
endif()

# On Linux, programs of both build types use the same libraries.
set(VCPKG_BUILD_TYPE release)

vcpkg_configure_meson(
    SOURCE_PATH "${SOURCE_PATH}"
    OPTIONS
        -Dtests=disabled
        -Dexamples=disabled
        -Dsimulator=disabled
        "-Dtools=${TOOLS}"
        "-Dheaders_dir=${HEADERS_DIR}"
)
vcpkg_install_meson()
vcpkg_fixup_pkgconfig()

vcpkg_cmake_config_fixup(CONFIG_PATH lib/cmake/cushim)
# The package finds its prefix from its own folder, which is now share/cushim.
vcpkg_replace_string("${CURRENT_PACKAGES_DIR}/share/cushim/cushim-config.cmake"
    "\${cushim_folder}/../../.." "\${cushim_folder}/../.."
)

if("tools" IN_LIST FEATURES)
    # A script: vcpkg_copy_tools would expect cushim-audit.exe on Windows.
    file(GLOB audit "${CURRENT_PACKAGES_DIR}/bin/cushim-audit*" "${CURRENT_PACKAGES_DIR}/debug/bin/cushim-audit*")
    file(INSTALL ${audit} DESTINATION "${CURRENT_PACKAGES_DIR}/tools/${PORT}" USE_SOURCE_PERMISSIONS)
    file(REMOVE ${audit})
    vcpkg_copy_tools(TOOL_NAMES cushim-info AUTO_CLEAN)
endif()
file(INSTALL "${CMAKE_CURRENT_LIST_DIR}/usage" DESTINATION "${CURRENT_PACKAGES_DIR}/share/${PORT}")
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE")
