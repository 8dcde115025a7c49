/* Links wherever a linker links at all. */
int main(void) {
    return 0;
}
