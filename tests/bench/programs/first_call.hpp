/* Prints the nanoseconds that the one call of a first_*.cpp takes in a fresh process.
 *
 * usage: PROGRAM driver|runtime. The clock is read once before: its own first use costs, too.
 */
#pragma once

#include <stdio.h>
#include <string.h>
#include <time.h>

static int first_driver_call();
static int first_runtime_call();

static double now_in_ns() {
    timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1e9 + now.tv_nsec;
}

int main(int argc, char **argv) {
    if (argc != 2)
        return 2;
    const bool runtime = strcmp(argv[1], "runtime") == 0;
    now_in_ns();
    const double begin = now_in_ns();
    const int status = runtime ? first_runtime_call() : first_driver_call();
    const double taken = now_in_ns() - begin;
    printf("%.0f\n", taken);
    return status;
}
