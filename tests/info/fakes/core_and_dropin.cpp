// A program with the marks of all parts of cushim, to which no code refers.
#include "marker.hpp"

CUSHIM_MARK(core_mark, cushim::make_marker(cushim::marker_core));
CUSHIM_MARK(dropin_mark, cushim::make_marker(cushim::marker_dropin));
CUSHIM_MARK(library_mark, cushim::library_mark("nvml"));
CUSHIM_MARK(other_library_mark, cushim::library_mark("a_library_with_a_long_name"));

int main() {
    return 0;
}
