"""The output of tests/dropin/programs/plain.c, and its own exit code."""

ABSENT_STATUS = 3
ABSENT = '''\
cuInit: 303 CUDA_ERROR_SHARED_OBJECT_INIT_FAILED, no CUDA driver
cudaGetDeviceCount: 35 cudaErrorInsufficientDriver, 0 devices
cudaDriverGetVersion: 0, version 0
last error: 35 35 0
no device: no CUDA driver
'''
PRESENT = '''\
cuInit: 0 CUDA_SUCCESS, no error
cudaGetDeviceCount: 0 cudaSuccess, 1 devices
cudaDriverGetVersion: 0, version known
last error: 0 0 0
driver: same
runtime: same
'''
