// The parts of the soak.
#pragma once

#include "../harness/uses.hpp"

#include <cushim/context.hpp>
#include <cushim/result.hpp>

#include <string>
#include <string_view>

namespace gpu_test {

// How much a program holds through operator new: with a real driver, whose allocations are its own,
// what the program and cushim hold.
std::size_t live_bytes() noexcept;

// --- another process, which makes what it opens in each round: memory and an event by IPC handles,
// memory of a pool and mapped memory by descriptors

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

// --- semaphores and images of Vulkan's, imported anew in each round

// Each says that it lacks Vulkan where there is none for the place's device.
std::span<const api_test::Use> vulkan_uses();

// Gives back what Vulkan made for all rounds.
void close_vulkan();

// --- what it leaves behind on purpose, to show that it notices

// What the finding begins with that tells of the leak of this name; nullptr: there is none of this
// name.
const char *finding_of_leak(std::string_view name);
// "one|another"
std::string names_of_leaks();
// Once in each round.
cushim::Result<void> leave_behind(std::string_view name, const cushim::Context &context);

} // namespace gpu_test
