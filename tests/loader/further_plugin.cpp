// A plugin that uses a further library.
#include "further.hpp"

extern "C" __attribute__((visibility("default"))) int plugin_add(int left, int right) {
    int sum = 0;
    return further::add(left, right, &sum) == 7 ? sum : -1;
}
