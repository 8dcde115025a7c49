// Work that is not ordered: between streams, and between a stream and the host.
#include "tools.hpp"

#include <thread>

namespace bugs {
namespace {

constexpr std::size_t count = 16, bytes = count * sizeof(int);

// A stream fills memory, and another copies it to the host.
struct Pipeline {
    Pipeline() {
        must(cudaMemset(memory, 0, bytes));
        must(cudaDeviceSynchronize());
    }
    void produce(cudaStream_t stream) const { must(cudaMemsetAsync(memory, 1, bytes, stream)); }
    void consume(cudaStream_t stream) const {
        must(cudaMemcpyAsync(result, memory, bytes, cudaMemcpyDeviceToHost, stream));
    }
    void record() const { must(cudaEventRecord(done, producer)); }
    void wait() const { must(cudaStreamWaitEvent(consumer, done, 0)); }
    // The consumer waits for the work of the producer so far.
    void order_unless(bool buggy) const {
        record();
        if (!buggy) {
            wait();
        }
    }
    void check_result() const {
        check(result[0] == 0x01010101);
        finish();
    }
    // Consumes in that stream and waits for it.
    void read(cudaStream_t stream) const {
        consume(stream);
        must(cudaStreamSynchronize(stream));
        check_result();
    }
    void finish() const { must(cudaDeviceSynchronize()); }

    DeviceMemory memory{bytes};
    Pinned result{count};
    Stream producer, consumer;
    Event done;
};

} // namespace

void add_order_bugs(Programs &programs) {
    programs["a stream does not wait for another"] = [](bool buggy) {
        Pipeline p;
        p.produce(p.producer);
        p.order_unless(buggy);
        p.read(p.consumer);
    };
    programs["an event is recorded after the wait for it"] = [](bool buggy) {
        Pipeline p;
        if (buggy) {
            p.wait();
        }
        p.produce(p.producer);
        p.order_unless(buggy);
        p.read(p.consumer);
    };
    programs["an event is recorded before the work"] = [](bool buggy) {
        Pipeline p;
        if (buggy) {
            p.record();
        }
        p.produce(p.producer);
        if (!buggy) {
            p.record();
        }
        p.wait();
        p.read(p.consumer);
    };
    // The default stream waits only for blocking streams.
    programs["the default stream is expected to wait for a non-blocking one"] = [](bool buggy) {
        Pipeline p;
        p.produce(p.producer);
        if (!buggy) {
            must(cudaStreamSynchronize(p.producer));
        }
        p.read(nullptr);
    };
    // The code was compiled for the legacy default stream, which all threads share.
    programs["default streams of two threads are expected to be one"] = [](bool buggy) {
        Pipeline p;
        std::thread([&] {
            p.produce(cudaStreamPerThread);
            if (!buggy) {
                must(cudaStreamSynchronize(cudaStreamPerThread));
            }
        }).join();
        p.read(cudaStreamPerThread);
    };
    programs["two streams write the same memory, and no test reads it"] = [](bool buggy) {
        Pipeline p;
        p.produce(p.producer);
        p.order_unless(buggy);
        p.produce(p.consumer);
        p.finish();
    };
    programs["the host reads before the copy has ended"] = [](bool buggy) {
        Pipeline p;
        p.produce(p.producer);
        p.consume(p.producer);
        if (!buggy) {
            must(cudaStreamSynchronize(p.producer));
        }
        p.check_result();
    };
    programs["a stream is queried once instead of synchronized"] = [](bool buggy) {
        Pipeline p;
        p.produce(p.producer);
        p.consume(p.producer);
        if (buggy) {
            ignore(cudaStreamQuery(p.producer));
        } else {
            must(cudaStreamSynchronize(p.producer));
        }
        p.check_result();
    };
    // Works as long as the buffer is pageable.
    programs["a pinned buffer is reused before its copy has ended"] = [](bool buggy) {
        Pipeline p;
        Pinned staging(count, 5);
        must(cudaMemcpyAsync(p.memory, staging, bytes, cudaMemcpyHostToDevice, p.producer));
        if (!buggy) {
            must(cudaStreamSynchronize(p.producer));
        }
        staging[0] = 6;
        must(cudaStreamSynchronize(p.producer));
        must(cudaMemcpy(p.result, p.memory, bytes, cudaMemcpyDeviceToHost));
        check(p.result[0] == 5);
    };
    programs["managed memory is read while a kernel writes it"] = [](bool buggy) {
        PrimaryContext context;
        Kernels kernels;
        int *numbers = nullptr;
        must(cudaMallocManaged(reinterpret_cast<void **>(&numbers), bytes, cudaMemAttachGlobal));
        numbers[0] = 0;
        must(fill(kernel_of(kernels), numbers, count, 7));
        if (!buggy) {
            must(cudaDeviceSynchronize());
        }
        check(numbers[0] == 7);
        must(cudaDeviceSynchronize());
        must(cudaFree(numbers));
    };
    programs["memory is freed in a stream that does not wait for its last use"] = [](bool buggy) {
        Pipeline p;
        void *memory = nullptr;
        must(cudaMallocAsync(&memory, bytes, p.producer));
        must(cudaStreamSynchronize(p.producer));
        must(cudaMemsetAsync(memory, 1, bytes, p.producer));
        p.order_unless(buggy);
        must(cudaFreeAsync(memory, p.consumer));
        ignore(cudaDeviceSynchronize());
    };
    programs["memory is used in a stream that does not wait for its allocation"] = [](bool buggy) {
        Pipeline p;
        void *memory = nullptr;
        must(cudaMallocAsync(&memory, bytes, p.producer));
        p.order_unless(buggy);
        must(cudaMemsetAsync(memory, 1, bytes, p.consumer));
        ignore(cudaStreamSynchronize(p.consumer));
        ignore(cudaFreeAsync(memory, p.consumer));
        ignore(cudaDeviceSynchronize());
    };
    // The call that returns the time fails: the event is not complete.
    programs["the time of an event is read too early"] = [](bool buggy) {
        Pipeline p;
        Event begin;
        must(cudaEventRecord(begin, p.producer));
        p.produce(p.producer);
        p.record();
        if (!buggy) {
            must(cudaEventSynchronize(p.done));
        }
        float milliseconds = 0;
        ignore(cudaEventElapsedTime(&milliseconds, begin, p.done));
        check(milliseconds > 0);
        p.finish();
    };
    // The driver runs host functions in one thread.
    programs["a host function waits for one of another stream"] = [](bool buggy) {
        struct Flag {
            bool volatile set = false;
            bool seen = false;
        };
        static Flag flag;
        Pipeline p;
        const auto set = [](void *argument) { static_cast<Flag *>(argument)->set = true; };
        const auto wait = [](void *argument) {
            auto *awaited = static_cast<Flag *>(argument);
            for (int i = 0; i < 1000 && !awaited->set; ++i) {
                std::this_thread::yield();
            }
            awaited->seen = awaited->set;
        };
        if (buggy) {
            must(cudaLaunchHostFunc(p.consumer, wait, &flag));
        }
        must(cudaLaunchHostFunc(p.producer, set, &flag));
        p.record();
        if (!buggy) {
            p.wait();
            must(cudaLaunchHostFunc(p.consumer, wait, &flag));
        }
        must(cudaStreamSynchronize(p.consumer));
        check(flag.seen);
        p.finish();
    };
}

} // namespace bugs
