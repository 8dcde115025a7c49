// Another process, which makes what the soak opens in each round: memory and an event by IPC
// handles, memory of a pool and mapped memory by descriptors.
#pragma once

#include "../harness/uses.hpp"

namespace gpu_test {

// Makes and hands out until the other end of the socket is closed. The status of the process.
int be_partner(int socket);

// Starts it: this program with `--partner SOCKET`. False where that fails. Before CUDA is used.
bool start_partner();
// Until it has made what it makes, or cannot: what it takes of the device is flat from then on.
void await_partner();
// Closes the socket, and waits for its end. Whether all went well there.
bool end_partner();

// Asks for what it makes, opens all of that, uses it, closes it. CUDA's first device is the place.
api_test::Use partner_use();

} // namespace gpu_test
