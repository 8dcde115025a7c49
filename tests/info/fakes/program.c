/* A program that calls one function or none. Never run: the function may have other parameters. */
#ifdef CALLED
int CALLED(int argument);
#else
#define CALLED(argument) (argument)
#endif

int main(void) {
    return CALLED(0);
}
