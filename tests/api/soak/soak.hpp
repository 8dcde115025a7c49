// The parts of the soak.
#pragma once

#include "../harness/uses.hpp"

#include <cushim/context.hpp>
#include <cushim/result.hpp>

#include <string>
#include <string_view>

namespace gpu_test {

// The bytes held through operator new: those of the program and cushim, but not of a real driver.
std::size_t live_bytes() noexcept;

// --- another process, whose resources are opened in each round: memory and an event by IPC
// handles, pool memory and mapped memory by descriptors

// Makes resources and sends them until the other end of the socket is closed. Returns the exit
// status.
int be_partner(int socket);

// Starts this program with `--partner SOCKET`, before CUDA is used. Returns false on failure.
bool start_partner();
// Waits until the partner has made its resources or failed; its device memory is constant
// afterwards.
void await_partner();
// Closes the socket and waits for the partner to exit. Returns whether it succeeded.
bool end_partner();

// Requests, opens, uses and closes the partner's resources, on device 0.
api_test::Use partner_use();

// --- Vulkan semaphores and images, imported in each round

// Each use fails with unsupported_platform if the device has no Vulkan.
std::span<const api_test::Use> vulkan_uses();

// Destroys the Vulkan objects of all rounds.
void close_vulkan();

// --- deliberate leaks, to test that they are found

// The first words of the finding for the leak of this name; nullptr if the name is unknown.
const char *finding_of_leak(std::string_view name);
// "one|another"
std::string names_of_leaks();
// Leaks once; called in each round.
cushim::Result<void> leave_behind(std::string_view name, const cushim::Context &context);

} // namespace gpu_test
