// One call of an entry point through the table: what goes in, and what comes back.
#pragma once

#include <cstring>
#include <type_traits>

namespace support {

// By which way a generated function reaches the entry point.
enum class Way {
    member,  // the member function that is there in every mode
    spelled, // the member function under the name that a program writes
    pointer, // the function pointer that pfn() gives
};

// What the generated functions pass: patterns that no two bytes of a call share by chance and that
// nobody may follow, or values that a callee may safely look at.
enum class Values { patterns, harmless };

class Call {
  public:
    Call(Way by, Values passed, unsigned int seed_of_call)
        : way(by), values(passed), seed(seed_of_call) {
        std::memset(scratch, untouched, sizeof scratch);
    }

    const Way way;

    // Generated functions: gives the next argument its value.
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

    // Generated functions: what the call answered.
    template <class T>
    void result(const T &value) {
        static_assert(sizeof(T) <= sizeof answer);
        answer_size = sizeof(T);
        std::memcpy(answer, &value, sizeof(T));
    }

    // Generated functions: pfn() had no function.
    void no_pointer() { pointer_missing = true; }

    // The status that came back, of a row that answers one.
    int status() const {
        int value = -1;
        std::memcpy(&value, answer, sizeof value);
        return value;
    }

    // Harmless calls: whether nothing was written through any pointer.
    bool outputs_untouched() const;

    unsigned int count = 0;
    unsigned int sizes[32] = {};
    unsigned int size = 0;
    unsigned char bytes[1024] = {};
    unsigned int answer_size = 0;
    unsigned char answer[64] = {};
    bool pointer_missing = false;

  private:
    const Values values;
    const unsigned int seed;
    // Where all pointers of harmless calls point.
    static constexpr unsigned char untouched = 0xa5;
    alignas(16) unsigned char scratch[256];

    void make_pattern(unsigned char *to, unsigned int length, bool enumeration) const;
    void keep_argument(const unsigned char *from, unsigned int length);
};

} // namespace support
