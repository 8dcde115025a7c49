// Threads that begin at the same time.
#pragma once

#include <atomic>
#include <thread>
#include <vector>

namespace support {

// Runs work(0), ..., work(count - 1), each in its own thread, and joins all of them.
template <class Work>
void in_threads(unsigned int count, Work work) {
    std::atomic<unsigned int> arriving = count;
    std::vector<std::thread> threads;
    for (unsigned int i = 0; i != count; ++i) {
        threads.emplace_back([&work, &arriving, i] {
            --arriving;
            while (arriving != 0) {
                std::this_thread::yield();
            }
            work(i);
        });
    }
    for (std::thread &thread : threads) {
        thread.join();
    }
}

} // namespace support
