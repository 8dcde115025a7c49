/* The time, for differences. */
#pragma once

#include <time.h>

inline double now_in_ns() {
    timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return double(now.tv_sec) * 1e9 + double(now.tv_nsec);
}
