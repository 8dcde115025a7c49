# cushim_add_gpu_test(NAME TARGET [ARGUMENTS word...] [KERNELS target...] [SETTINGS key=value...])
#
# Adds the CTest test NAME, which runs the program TARGET on the simulated GPU, with these arguments. KERNELS are
# libraries that register host functions for kernels (add_library(... MODULE ...)), which this gives the folder of
# cushim_sim.h. SETTINGS are those of the simulator, such as devices=2 or report=fail. Building TARGET also builds the
# simulator and the libraries. Without a simulator, the test is disabled, which CTest shows.
function(cushim_add_gpu_test name target)
    cmake_parse_arguments(PARSE_ARGV 2 test "" "" "ARGUMENTS;KERNELS;SETTINGS")
    if(test_UNPARSED_ARGUMENTS)
        message(FATAL_ERROR "cushim_add_gpu_test(${name}): not understood: ${test_UNPARSED_ARGUMENTS}; "
            "usage: cushim_add_gpu_test(NAME TARGET [ARGUMENTS word...] [KERNELS target...] [SETTINGS key=value...])")
    endif()
    foreach(wanted ${target} ${test_KERNELS})
        if(NOT TARGET ${wanted})
            message(FATAL_ERROR "cushim_add_gpu_test(${name}): ${wanted} is not a target")
        endif()
    endforeach()
    add_test(NAME ${name} COMMAND ${target} ${test_ARGUMENTS})

    get_target_property(driver cushim::core CUSHIM_SIM_DRIVER)
    if(NOT driver)
        message(STATUS "cushim_add_gpu_test(${name}): disabled, because this cushim has no simulator")
        set_tests_properties(${name} PROPERTIES DISABLED TRUE)
        return()
    endif()
    get_target_property(runtime cushim::core CUSHIM_SIM_RUNTIME)
    get_target_property(headers cushim::core CUSHIM_SIM_INCLUDE_DIR)
    get_target_property(simulator cushim::core CUSHIM_SIM_TARGET)
    if(simulator)
        add_dependencies(${target} ${simulator})
    endif()
    set(settings ${test_SETTINGS})
    foreach(kernels IN LISTS test_KERNELS)
        target_include_directories(${kernels} SYSTEM PRIVATE "${headers}")
        add_dependencies(${target} ${kernels})
        list(APPEND settings "kernels=$<TARGET_FILE:${kernels}>")
    endforeach()
    # A semicolon separates settings and, unless it is escaped, variables.
    list(JOIN settings "\\;" settings)
    set_tests_properties(${name} PROPERTIES
        ENVIRONMENT "CUSHIM_DRIVER=${driver};CUSHIM_RUNTIME=${runtime};CUSHIM_SIM=${settings}")
endfunction()
