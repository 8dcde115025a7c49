/* What to do if cuInit fails, for the wrappers and cushim-info. Usable from C11 and C++11. */
#ifndef CUSHIM_DETAIL_INIT_ADVICE_H
#define CUSHIM_DETAIL_INIT_ADVICE_H

#include <stddef.h>

#include <cushim/detail/config.h>

/* A phrase; NULL if the driver's own text says enough. Numbers: older headers lack some names. */
static inline const char *cushim_init_advice(int status) {
    switch (status) {
    case 2:
        return "the driver ran out of memory during start-up; check the limits of this process "
               "(ulimit -v) and other users of the GPU";
    case 46:
        return "the GPU is in exclusive use by another process; see nvidia-smi";
    case 304:
        return "the system denied a request of the driver; check the permissions of /dev/nvidia* "
               "and, in a container, which devices it was given";
    case 802:
        return "the GPUs are not ready; on a machine with NVSwitch, start the service "
               "nvidia-fabricmanager, in the driver's version";
    case 803:
        return "the driver's library and kernel module have different versions; after a driver "
               "update, restart the machine, otherwise remove the library that does not match";
    case 804:
        return "the forward-compatibility library does not support this GPU; remove its folder "
               "(cuda/compat) from LD_LIBRARY_PATH, and update the driver instead";
    case 805:
    case 806:
        return "the multi-process service (MPS) does not respond; restart its daemon, or unset "
               "CUDA_MPS_PIPE_DIRECTORY";
    case 807:
        return "the server of the multi-process service (MPS) is not ready; try again later, or "
               "restart its daemon";
    case 808:
        return "the multi-process service (MPS) has its maximum number of clients; end one";
    case 809:
        return "the multi-process service (MPS) has its maximum number of connections; end a "
               "client";
    case 810:
        return "the multi-process service (MPS) ended this client; start the process again, and "
               "read the log of its server";
    case 999:
        return "the driver failed with an unknown error; it may be in a bad state after suspend or "
               "an update: reload the kernel module nvidia_uvm or restart the machine, and read "
               "the system log (dmesg)";
    default:
        return NULL;
    }
}

#endif
