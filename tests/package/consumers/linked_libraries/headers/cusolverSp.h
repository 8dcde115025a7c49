#include "cusolver_common.h"
