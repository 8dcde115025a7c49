/* A library that exports one function, and calls another if CALLED names one. */
#ifdef _WIN32
#define EXPORT __declspec(dllexport)
#else
#define EXPORT __attribute__((visibility("default")))
#endif

#ifdef CALLED
int CALLED(int argument);
#else
#define CALLED(argument) (argument)
#endif

EXPORT int DEFINED(int argument);

int DEFINED(int argument) {
    return CALLED(argument);
}
