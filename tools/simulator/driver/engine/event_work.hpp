// Event work of streams and graph nodes. Work::parameters: CUevent.
#pragma once

#include "engine/work.hpp"

namespace sim {

Work event_record_work(CUevent_st &event, const char *what);
Work event_wait_work(CUevent_st &event, const char *what);

} // namespace sim
