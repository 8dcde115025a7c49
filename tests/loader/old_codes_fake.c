/* A driver of CUDA 12.2 that does not know the statuses that cushim itself returns. With NO_CODES:
 * a driver without cuGetErrorName and cuGetErrorString. */
#include "fake_driver_12_2.h"

#ifndef NO_CODES
static int tell(int status, const char **text) {
    if (text == 0) {
        return 1;
    }
    *text = status == 0 ? "old driver: 0" : status == 1 ? "old driver: 1" : 0;
    return *text != 0 ? 0 : 1;
}

EXPORT int CALL cuGetErrorName(int status, const char **text) {
    return tell(status, text);
}

EXPORT int CALL cuGetErrorString(int status, const char **text) {
    if (status == 303 && text != 0) {
        *text = "old driver: 303";
        return 0;
    }
    return tell(status, text);
}
#endif
