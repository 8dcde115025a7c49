# Tests on the simulated GPU.
#
#   cushim_add_gpu_test(NAME TARGET [ARGUMENTS word...] [KERNELS target...] [SETTINGS key=value...])
#
# Adds the CTest test NAME, which runs the program TARGET with these arguments.
#
#   cushim_discovered_gpu_tests(TARGET [TEST_LIST variable] [KERNELS target...] [SETTINGS key=value...])
#
# Runs the tests of an earlier gtest_discover_tests(TARGET), catch_discover_tests(TARGET) or
# doctest_discover_tests(TARGET) on the simulated GPU. If that call has TEST_LIST, this needs it, too.
#
# KERNELS are libraries that register host functions for kernels (add_library(... MODULE ...)). They and TARGET can
# include cushim_sim.h. SETTINGS are those of the simulator, such as devices=2 or report=fail. Building TARGET also
# builds the simulator and the libraries. Without a simulator, TARGET and KERNELS are built, and CTest shows the tests as
# disabled.
function(cushim_add_gpu_test name target)
    cmake_parse_arguments(PARSE_ARGV 2 test "" "" "ARGUMENTS;KERNELS;SETTINGS")
    if(test_UNPARSED_ARGUMENTS)
        message(FATAL_ERROR "cushim_add_gpu_test(${name}): not understood: ${test_UNPARSED_ARGUMENTS}; "
            "usage: cushim_add_gpu_test(NAME TARGET [ARGUMENTS word...] [KERNELS target...] [SETTINGS key=value...])")
    endif()
    add_test(NAME ${name} COMMAND ${target} ${test_ARGUMENTS})
    cushim_simulate("cushim_add_gpu_test(${name})" ${target})
    set_tests_properties(${name} PROPERTIES ${property} "${value}")
endfunction()

function(cushim_discovered_gpu_tests target)
    cmake_parse_arguments(PARSE_ARGV 1 test "" "TEST_LIST" "KERNELS;SETTINGS")
    if(test_UNPARSED_ARGUMENTS)
        message(FATAL_ERROR "cushim_discovered_gpu_tests(${target}): not understood: ${test_UNPARSED_ARGUMENTS}; "
            "usage: cushim_discovered_gpu_tests(TARGET [TEST_LIST variable] [KERNELS target...] "
            "[SETTINGS key=value...])")
    endif()
    if(NOT test_TEST_LIST)
        set(test_TEST_LIST ${target}_TESTS)
    endif()
    cushim_simulate("cushim_discovered_gpu_tests(${target})" ${target})
    # The tests are known when CTest includes this file after that of the discovery, which sets the list.
    set(file "${CMAKE_CURRENT_BINARY_DIR}/${test_TEST_LIST}_simulated")
    set(configuration "")
    get_property(has_configurations GLOBAL PROPERTY GENERATOR_IS_MULTI_CONFIG)
    if(has_configurations)
        set(configuration "-$<CONFIG>")
        file(WRITE "${file}.cmake" "include(\"${file}-\${CTEST_CONFIGURATION_TYPE}.cmake\")\n")
    endif()
    file(GENERATE OUTPUT "${file}${configuration}.cmake" CONTENT "if(${test_TEST_LIST})
    set_tests_properties(\${${test_TEST_LIST}} PROPERTIES ${property} [==[${value}]==])
elseif(EXISTS \"$<TARGET_FILE:${target}>\")
    message(FATAL_ERROR \"cushim_discovered_gpu_tests(${target}): there are no tests in ${test_TEST_LIST}\")
endif()
")
    set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES "${file}.cmake")
endfunction()

# For the functions above, with their test_KERNELS and test_SETTINGS: sets `property` and `value`, for their tests.
function(cushim_simulate caller target)
    foreach(wanted ${target} ${test_KERNELS})
        if(NOT TARGET ${wanted})
            message(FATAL_ERROR "${caller}: ${wanted} is not a target")
        endif()
    endforeach()
    get_target_property(headers cushim::core CUSHIM_SIM_INCLUDE_DIR)
    foreach(user ${target} ${test_KERNELS})
        target_include_directories(${user} SYSTEM PRIVATE "${headers}")
    endforeach()

    get_target_property(driver cushim::core CUSHIM_SIM_DRIVER)
    if(NOT driver)
        message(STATUS "${caller}: disabled, because this cushim has no simulator")
        set(property DISABLED PARENT_SCOPE)
        set(value TRUE PARENT_SCOPE)
        return()
    endif()
    get_target_property(runtime cushim::core CUSHIM_SIM_RUNTIME)
    get_target_property(simulator cushim::core CUSHIM_SIM_TARGET)
    if(simulator)
        add_dependencies(${target} ${simulator})
    endif()
    set(settings ${test_SETTINGS})
    foreach(kernels IN LISTS test_KERNELS)
        add_dependencies(${target} ${kernels})
        list(APPEND settings "kernels=$<TARGET_FILE:${kernels}>")
    endforeach()
    # A semicolon separates settings and, unless it is escaped, variables.
    list(JOIN settings "\\;" settings)
    set(property ENVIRONMENT PARENT_SCOPE)
    set(value "CUSHIM_DRIVER=${driver};CUSHIM_RUNTIME=${runtime};CUSHIM_SIM=${settings}" PARENT_SCOPE)
endfunction()
