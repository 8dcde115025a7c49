// Compiles if the CUDA headers are usable. headers.cmake reads their version from the program,
// which is never run.
#include <cuda.h>
#include <cuda_runtime_api.h>

#define DIGIT(unit) '0' + CUDA_VERSION / (unit) % 10

const volatile char version[] = {
    'C', 'U', 'D', 'A',          '_',         'V',        'E',       'R',      'S', 'I',
    'O', 'N', '=', DIGIT(10000), DIGIT(1000), DIGIT(100), DIGIT(10), DIGIT(1), '.', 0,
};

int main() {
    return version[0];
}
