/* An empty program, to find out whether a linker works. */
int main(void) {
    return 0;
}
