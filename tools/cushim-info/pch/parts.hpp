// Compiled once, ahead of the parts of cushim-info: what of the standard library they use most.
#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>
