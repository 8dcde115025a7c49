/* A library without contents. */
typedef int empty;
