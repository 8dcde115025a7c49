// Two libraries of one process, each with its own copy of cushim: both work, and with an argument,
// neither sees what the other does.
#include <cstdio>
#include <cstdlib>

extern "C" {
int first_state();
int first_init();
unsigned long first_resolve();
int first_overridden();
int second_state();
int second_init();
unsigned long second_resolve();
int second_overridden();
}

// What a copy calls while it overrides its own cuInit: the other's.
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
    expect(first_state() == 0 && second_state() == 0, "nothing was tried");
    const int status = first_init();
    expect(first_state() != 0, "the first copy has tried");
    expect(second_state() == 0, "the second copy has not");
    other = second_init;
    expect(first_overridden() == status, "an override of the first stays its own");
    other = first_init;
    expect(second_overridden() == status, "an override of the second stays its own");
}

int main(int argc, char **) {
    if (argc > 1) {
        expect_apart();
    }
    const int status = first_init();
    expect(second_init() == status, "both get the same answer");
    expect(first_resolve() == second_resolve(), "both resolve the same");
    expect(first_state() == second_state() && first_state() != 0, "both know how it stands");
    std::printf("both answer %d\n", status);
    return 0;
}
