"""The functions of the profiler headers, which not every package of CUDA headers has.

Where cudaProfiler.h or cuda_profiler_api.h is absent, its functions are rows all the same, declared as
released CUDA declares them. A program compiled with a table needs neither header: the only type that
they define, CUoutput_mode, is spelled as the integer that it is.
"""

DRIVER = '''
CUresult cuProfilerInitialize(const char *configFile, const char *outputFile,
                              unsigned int outputMode);
CUresult cuProfilerStart(void);
CUresult cuProfilerStop(void);
'''
RUNTIME = '''
cudaError_t cudaProfilerStart(void);
cudaError_t cudaProfilerStop(void);
'''
# Removed by CUDA 12.
RUNTIME_11 = '''
cudaError_t cudaProfilerInitialize(const char *configFile, const char *outputFile,
                                   cudaOutputMode_t outputMode);
'''


def declarations_of(header, packed):
    """What a header declares, in the CUDA version `packed`."""
    if header == 'cudaProfiler.h':
        return DRIVER
    return (RUNTIME_11 if packed < 12000 else '') + RUNTIME
