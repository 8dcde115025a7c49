// The values that distinguish fake libraries built from the same objects; see fake_rows.h.
#include "fake_rows.h"

#ifndef FAKE_FORCED_STATUS
#define FAKE_FORCED_STATUS 0
#endif
#ifndef FAKE_RUNTIME_VERSION
#define FAKE_RUNTIME_VERSION 0
#endif

const int fake_forced_status = FAKE_FORCED_STATUS;
const int fake_runtime_version = FAKE_RUNTIME_VERSION;
