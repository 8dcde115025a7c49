/* Existing code that uses the driver API alone. */
#include <cuda.h>

#include <stdio.h>

int main(void) {
    printf("cuInit %d\n", (int)cuInit(0));
    return 0;
}
