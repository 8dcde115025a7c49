/* Measures operations of the simulated driver, for the programs whose cost per operation is
 * compared for different sizes.
 */
#pragma once

#include <cushim/driver_table.hpp>

#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

#include <functional>

static const auto driver = cushim::driver();

inline void require(int status) {
    if (status != 0) {
        fprintf(stderr, "status %d\n", status);
        exit(1);
    }
}

inline double processor_ns() {
    timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return now.tv_sec * 1e9 + now.tv_nsec;
}

inline double resident_bytes() {
    rusage usage;
    require(getrusage(RUSAGE_SELF, &usage));
    return usage.ru_maxrss * 1024.0;
}

/* How often threads of this process went to sleep. */
inline double sleeps() {
    rusage usage;
    require(getrusage(RUSAGE_SELF, &usage));
    return usage.ru_nvcsw;
}

extern "C" [[gnu::noinline]] void measured_part(const std::function<void()> &operations) {
    operations();
}

inline double measure(const std::function<void()> &operations, double (*meter)() = processor_ns) {
    const double before = meter();
    measured_part(operations);
    return meter() - before;
}

/* The primary context of device 0, which becomes current. */
inline CUcontext start() {
    CUcontext context = nullptr;
    require(driver.cuInit(0));
    require(driver.cuDevicePrimaryCtxRetain(&context, 0));
    require(driver.cuCtxSetCurrent(context));
    return context;
}

/* Ends the process without the exit handlers of the simulator, which would destroy every object. */
[[noreturn]] inline void print_and_leave(double figure) {
    printf("%.4f\n", figure);
    fflush(stdout);
    _Exit(0);
}
