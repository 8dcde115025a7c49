/* A program that calls one function, or none. */
#ifdef CALLED
int CALLED(int argument);
#else
#define CALLED(argument) (argument)
#endif

int main(void) {
    return CALLED(0);
}
