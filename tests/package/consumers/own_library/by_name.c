/* Existing code: it is linked to Greeter's drop-in instead of the library. */
#include "greeter.h"

#include <stdio.h>

int main(void) {
    printf("%s, wave %d\n", greeter_text("you"), greeter_wave(3));
    return 0;
}
