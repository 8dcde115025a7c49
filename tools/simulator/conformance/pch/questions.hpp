// Precompiled header: headers that all sections include and that are slow to compile.
#include <cushim/table.hpp>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>
