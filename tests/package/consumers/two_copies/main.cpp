// Two libraries of one process, each with its own copy of cushim. Both work; with an argument,
// neither may be affected by the other.
#include <cstdio>
#include <cstdlib>

extern "C" {
int first_state();
int first_init();
unsigned long first_resolve();
int first_overridden();
[[gnu::weak]] int first_rejects(); // with -DWITH_GRAPHS
int second_state();
int second_init();
unsigned long second_resolve();
int second_overridden();
[[gnu::weak]] int second_rejects();
}

// The function of the other copy that a copy calls while it overrides its own cuInit.
static int (*other)();
extern "C" int other_init() {
    return other();
}

static void expect(bool holds, const char *what) {
    if (!holds) {
        std::printf("%s\n", what);
        std::exit(1);
    }
}

static void expect_apart() {
    expect(first_state() == 0 && second_state() == 0, "no copy has searched");
    const int status = first_init();
    expect(first_state() != 0, "the first copy has searched");
    expect(second_state() == 0, "the second copy has not searched");
    other = second_init;
    expect(first_overridden() == status,
           "an override in the first copy does not affect the second");
    other = first_init;
    expect(second_overridden() == status,
           "an override in the second copy does not affect the first");
}

int main(int argc, char **) {
    if (argc > 1) {
        expect_apart();
    }
    const int status = first_init();
    expect(second_init() == status, "both return the same status");
    expect(first_resolve() == second_resolve(), "both resolve the same number");
    expect(first_state() == second_state() && first_state() != 0, "both report the same state");
    if (first_rejects != nullptr) {
        expect(first_rejects() && second_rejects(), "both reject a copy with the right message");
    }
    std::printf("both return %d\n", status);
    return 0;
}
