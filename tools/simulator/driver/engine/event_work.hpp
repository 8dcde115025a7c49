// Event work of streams and graph nodes. Work::parameters: CUevent.
#pragma once

#include "engine/work.hpp"

namespace sim {

// The event may be destroyed before the work is enqueued.
Work event_record_work(CUevent event, const char *what);
Work event_wait_work(CUevent event, const char *what);

// A record of all work that is enqueued in a context. Fails with INVALID_HANDLE for an event of
// another one, and with 900 while a stream of it captures.
void record_all(CUctx_st &context, CUevent_st &event, const char *what);
// All later work of a context waits for the event. Fails likewise, and for a captured event.
void delay_all(CUctx_st &context, CUevent_st &event, const char *what);

} // namespace sim
