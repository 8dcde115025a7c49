// A program with the marks of both parts of cushim, to which no code refers.
#include "marker.hpp"

CUSHIM_MARK(core_mark, cushim::marker_core);
CUSHIM_MARK(dropin_mark, cushim::marker_dropin);

int main() {
    return 0;
}
