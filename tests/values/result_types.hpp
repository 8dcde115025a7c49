// Types that the tests of Result hold, and what those must allow.
#pragma once

namespace values {

struct Counts {
    int live = 0;
    int copies = 0;
    int moves = 0;
};

// Counts what happens to all objects of its kind.
struct Counted {
    static inline Counts counts;

    explicit Counted(int v) : value(v) { ++counts.live; }
    Counted(const Counted &other) : value(other.value) {
        ++counts.live;
        ++counts.copies;
    }
    Counted(Counted &&other) noexcept : value(other.value) {
        other.value = -1;
        ++counts.live;
        ++counts.moves;
    }
    Counted &operator=(const Counted &other) {
        value = other.value;
        ++counts.copies;
        return *this;
    }
    Counted &operator=(Counted &&other) noexcept {
        const int moved = other.value;
        other.value = -1;
        value = moved;
        ++counts.moves;
        return *this;
    }
    ~Counted() { --counts.live; }

    int value;
};

// Starts the count anew, and tells what happened since.
class Count {
  public:
    Count() : start_(Counted::counts) {}
    int live() const { return Counted::counts.live - start_.live; }
    int copies() const { return Counted::counts.copies - start_.copies; }
    int moves() const { return Counted::counts.moves - start_.moves; }

  private:
    Counts start_;
};

// Movable, not copyable, without a default.
struct MoveOnly {
    explicit MoveOnly(int) {}
    MoveOnly(MoveOnly &&) noexcept = default;
    MoveOnly &operator=(MoveOnly &&) noexcept = default;
};

// Has constants, so that it can be copied but not assigned.
struct Fixed {
    const int value;
};

// Its own address-of operator is not the one that Result wants.
struct Elusive {
    int value = 0;
    Elusive *operator&() { return nullptr; }
    const Elusive *operator&() const { return nullptr; }
};

} // namespace values
