// A program with the marks of both parts of cushim.
#include "marker.hpp"

CUSHIM_MARK(core, cushim::marker_core);
CUSHIM_MARK(dropin, cushim::marker_dropin);

int main() {
    cushim::keep(core);
    cushim::keep(dropin);
    return 0;
}
