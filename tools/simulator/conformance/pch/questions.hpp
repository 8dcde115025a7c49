// Compiled once, ahead of the questions: what all of them include, and what that takes long for.
#include <cushim/cushim.hpp>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>
