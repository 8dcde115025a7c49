/* Starts programs by turns and measures each from start to end.
 *
 * usage: PROGRAM ROUNDS PROGRAM... Prints one line per round: for each program the elapsed
 * microseconds and the microseconds of processor time. Every round begins with another program, so
 * that the order favours none of them.
 */
#define _GNU_SOURCE
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>

struct taken {
    double passed, processor;
};

static double now_in_us(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

static double in_us(struct timeval time) {
    return (double)time.tv_sec * 1e6 + (double)time.tv_usec;
}

static struct taken run(char *program) {
    char *arguments[] = {program, NULL}, *environment[] = {NULL};
    pid_t child;
    int status = 0;
    struct rusage usage;
    const double begin = now_in_us();
    if (posix_spawn(&child, program, NULL, NULL, arguments, environment) != 0 ||
        wait4(child, &status, 0, &usage) != child || status != 0) {
        exit(1);
    }
    const struct taken taken = {now_in_us() - begin, in_us(usage.ru_utime) + in_us(usage.ru_stime)};
    return taken;
}

int main(int argc, char **argv) {
    const int programs = argc - 2;
    struct taken taken[16];
    if (programs < 1 || programs > 16) {
        return 2;
    }
    for (int round = 0; round < atoi(argv[1]); ++round) {
        for (int turn = 0; turn < programs; ++turn) {
            const int which = (round + turn) % programs;
            taken[which] = run(argv[2 + which]);
        }
        for (int which = 0; which < programs; ++which) {
            printf("%.2f %.2f%c", taken[which].passed, taken[which].processor,
                   which + 1 < programs ? ' ' : '\n');
        }
    }
    return 0;
}
