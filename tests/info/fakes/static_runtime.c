/* A program that is linked with NVIDIA's static libcudart. */
int cudaGetDeviceCount(int *count);

int main(void) {
    int count = 0;
    return cudaGetDeviceCount(&count) != 0;
}
