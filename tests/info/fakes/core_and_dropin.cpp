// A program with the marks of all parts of cushim, to which no code refers.
#include "mark_text.h"

CUSHIM_MARK(core_mark, CUSHIM_MARK_CORE, CUSHIM_MARK_TEXT);
CUSHIM_MARK(dropin_mark, CUSHIM_MARK_DROPIN, CUSHIM_MARK_TEXT);
CUSHIM_MARK(library_mark, CUSHIM_MARK_LIBRARY, "nvml");
CUSHIM_MARK(other_library_mark, CUSHIM_MARK_LIBRARY, "a_library_with_a_long_name");

int main() {
    return 0;
}
