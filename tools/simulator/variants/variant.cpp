// Properties that distinguish drivers linked from the same objects. Their exports are in their
// symbol lists.
#include "driver/call/settings.hpp"

namespace sim {

extern "C" const int sim_variant_version = SIM_VARIANT_VERSION;
extern "C" const int sim_variant_is_stub = SIM_VARIANT_IS_STUB;
extern "C" const char *const sim_variant_lacks = SIM_VARIANT_LACKS;

} // namespace sim
