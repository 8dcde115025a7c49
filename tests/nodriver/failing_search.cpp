// Each allocation of a search fails once, in a process of its own. Afterwards, a reload finds what
// a search without the failure finds: the chosen driver, and the runtime beside it.
//
// usage: failing_search DRIVER
#include <cushim/loader.h>

#include "../support/expect.h"

#include <cerrno>
#include <cstddef>
#include <sys/wait.h>
#include <unistd.h>

extern "C" {
void *__libc_malloc(std::size_t size);
void *__libc_calloc(std::size_t count, std::size_t size);
void *__libc_realloc(void *memory, std::size_t size);
}

namespace {

long until_failure = 0; // 0: none fails

bool fails() {
    if (until_failure == 0 || --until_failure != 0) {
        return false;
    }
    errno = ENOMEM;
    return true;
}

} // namespace

extern "C" void *malloc(std::size_t size) noexcept {
    return fails() ? nullptr : __libc_malloc(size);
}
extern "C" void *calloc(std::size_t count, std::size_t size) noexcept {
    return fails() ? nullptr : __libc_calloc(count, size);
}
extern "C" void *realloc(void *memory, std::size_t size) noexcept {
    return fails() ? nullptr : __libc_realloc(memory, size);
}

namespace {

void load_with_failure(long nth, const char *driver) {
    failures = 0;
    until_failure = nth;
    cushim_load(CUSHIM_LIBRARY_DRIVER);
    const bool has_failed = until_failure == 0;
    until_failure = 0;
    EXPECT_INT(cushim_reload(CUSHIM_LIBRARY_DRIVER), CUSHIM_STATE_LOADED);
    EXPECT_TEXT(cushim_load_report(CUSHIM_LIBRARY_DRIVER)->path, driver);
    EXPECT_INT(cushim_load_report(CUSHIM_LIBRARY_DRIVER)->candidate_count, 1);
    EXPECT_INT(cushim_load(CUSHIM_LIBRARY_RUNTIME), CUSHIM_STATE_LOADED);
    if (failures != 0) {
        fprintf(stderr, "after a failure of allocation %ld\n", nth);
    }
    _exit(failures != 0 ? 1 : has_failed ? 0 : 2);
}

} // namespace

int main(int, char **argv) {
    setenv("CUSHIM_DRIVER", argv[1], 1);
    int result = 0; // of the last process; 2: fewer allocations
    long nth = 1;
    for (; result != 2 && nth < 1000; ++nth) {
        const pid_t child = fork();
        if (child == 0) {
            load_with_failure(nth, argv[1]);
        }
        int status = 0;
        EXPECT_INT(waitpid(child, &status, 0), child);
        EXPECT(WIFEXITED(status) && WEXITSTATUS(status) != 1);
        result = WIFEXITED(status) ? WEXITSTATUS(status) : 1;
    }
    EXPECT(nth > 5 && nth < 1000);
    return finish();
}
