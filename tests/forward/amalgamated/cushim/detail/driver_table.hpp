// Instead of the generated header of this name: meson.build.
#pragma once
#include "cushim.h"
