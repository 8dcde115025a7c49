// The types of values in the tests of Result.
#pragma once

namespace values {

struct Counts {
    int live = 0;
    int copies = 0;
    int moves = 0;
};

// Counts copies, moves and live objects.
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

// Counts from its construction on.
class Count {
  public:
    Count() : start_(Counted::counts) {}
    int live() const { return Counted::counts.live - start_.live; }
    int copies() const { return Counted::counts.copies - start_.copies; }
    int moves() const { return Counted::counts.moves - start_.moves; }

  private:
    Counts start_;
};

// Movable, neither copyable nor default-constructible.
struct MoveOnly {
    explicit MoveOnly(int) {}
    MoveOnly(MoveOnly &&) noexcept = default;
    MoveOnly &operator=(MoveOnly &&) noexcept = default;
};

// Copyable but not assignable, because of a const member.
struct Fixed {
    const int value;
};

// Overloads the address-of operator.
struct Elusive {
    int value = 0;
    Elusive *operator&() { return nullptr; }
    const Elusive *operator&() const { return nullptr; }
};

} // namespace values
