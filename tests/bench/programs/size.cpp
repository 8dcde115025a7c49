/* A program that loads the driver. With CALL_FIVE it also calls five entry points; with RESOLVE_ALL
 * it needs the registry of all rows. */
#include <cushim/driver_table.hpp>
#include <cushim/loader.h>

int main() {
    if (cushim_load(CUSHIM_LIBRARY_DRIVER) != CUSHIM_STATE_LOADED) {
        return 1;
    }
    int status = 0;
#ifdef CALL_FIVE
    const auto cuda = cushim::driver();
    CUdevice device = 0;
    CUcontext context = nullptr;
    CUdeviceptr memory = 0;
    status |= cuda.cuInit(0);
    status |= cuda.cuDeviceGet(&device, 0);
    status |= cuda.cuDevicePrimaryCtxRetain(&context, device);
    status |= cuda.cuCtxSetCurrent(context);
    status |= cuda.cuMemAlloc(&memory, 4096);
#endif
#ifdef RESOLVE_ALL
    status |= cushim_resolve_all(CUSHIM_LIBRARY_DRIVER) == 0;
    status |= cushim_resolve_all(CUSHIM_LIBRARY_RUNTIME) == 0;
#endif
    return status;
}
