"""The functions of the profiler headers, which some packages of CUDA headers lack.

If cudaProfiler.h or cuda_profiler_api.h is missing, its functions are rows nevertheless, with the
declarations of released CUDA. A program compiled with a table needs neither header: the only type that
they define, CUoutput_mode, is replaced by an integer.
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
    """The declarations of a header in the CUDA version `packed`."""
    text = DRIVER if header == 'cudaProfiler.h' else (RUNTIME_11 if packed < 12000 else '') + RUNTIME
    return f'extern "C" {{{text}}}\n'
