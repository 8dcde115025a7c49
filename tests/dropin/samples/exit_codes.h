/* The exit codes of the programs; 0 means success. */
#ifndef EXIT_CODES_H
#define EXIT_CODES_H

enum { EXIT_WRONG_RESULT = 1, EXIT_NO_DEVICE = 2, EXIT_CUDA_ERROR = 3 };

#endif
