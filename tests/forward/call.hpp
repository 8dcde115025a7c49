// One call of an entry point through the table: its arguments and its result.
#pragma once

#include <cstring>
#include <type_traits>

namespace support {

// How a generated function calls the entry point.
enum class Way {
    member,  // the member function that exists in every mode
    spelled, // the member function with the name that programs use
    pointer, // the function pointer that pfn() returns
};

// The arguments: patterns that differ in every byte of a call and must not be dereferenced, or
// values that are safe to read.
enum class Values { patterns, harmless };

class Call {
  public:
    Call(Way by, Values passed, unsigned int seed_of_call)
        : way(by), values(passed), seed(seed_of_call) {
        std::memset(scratch, untouched, sizeof scratch);
    }

    const Way way;

    // For generated functions: the value of the next argument.
    template <class T>
    void argument(T &value) {
        unsigned char made[sizeof(T)] = {};
        if (values == Values::patterns) {
            make_pattern(made, sizeof(T), std::is_enum_v<T>);
        } else if constexpr (std::is_pointer_v<T>) {
            unsigned char *target = scratch;
            std::memcpy(made, &target, sizeof target);
        }
        std::memcpy(&value, made, sizeof(T));
        keep_argument(made, sizeof(T));
    }

    // For generated functions: stores the result of the call.
    template <class T>
    void result(const T &value) {
        static_assert(sizeof(T) <= sizeof answer);
        answer_size = sizeof(T);
        std::memcpy(answer, &value, sizeof(T));
    }

    // For generated functions: pfn() returned no function.
    void no_pointer() { pointer_missing = true; }

    // The returned status, for rows that return one.
    int status() const {
        int value = -1;
        std::memcpy(&value, answer, sizeof value);
        return value;
    }

    // For harmless calls: whether no pointer was written through.
    bool outputs_untouched() const;

    unsigned int count = 0;
    unsigned int sizes[40] = {};
    unsigned int size = 0;
    unsigned char bytes[1024] = {};
    unsigned int answer_size = 0;
    unsigned char answer[64] = {};
    bool pointer_missing = false;

  private:
    const Values values;
    const unsigned int seed;
    // The memory that all pointers of harmless calls point to.
    static constexpr unsigned char untouched = 0xa5;
    alignas(16) unsigned char scratch[256];

    void make_pattern(unsigned char *to, unsigned int length, bool enumeration) const;
    void keep_argument(const unsigned char *from, unsigned int length);
};

} // namespace support
