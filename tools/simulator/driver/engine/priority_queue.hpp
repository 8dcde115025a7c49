// A binary heap of elements that store their own place in it, so that any of them can be removed.
#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

namespace sim {

// `place` is the member in which an element stores its place; 0 outside the queue. `before` orders
// the elements. The queue does not own them. Only reserve() allocates.
template <class T, auto place, auto before>
class PriorityQueue {
  public:
    bool empty() const noexcept { return elements_.empty(); }
    std::size_t size() const noexcept { return elements_.size(); }
    auto begin() const noexcept { return elements_.begin(); } // in no particular order
    auto end() const noexcept { return elements_.end(); }
    T &first() const noexcept { return *elements_.front(); }
    bool contains(const T &element) const noexcept { return element.*place != 0; }

    void reserve(std::size_t count) {
        if (count > elements_.capacity()) {
            elements_.reserve(std::max(count, 2 * elements_.capacity()));
        }
    }
    // Requires room for it: see reserve().
    void add(T &element) noexcept {
        elements_.push_back(&element);
        rise(elements_.size() - 1);
    }
    void remove(T &element) noexcept {
        const std::size_t at = std::exchange(element.*place, 0) - 1;
        T *const last = elements_.back();
        elements_.pop_back();
        if (last != &element) {
            put(at, last);
            moved(*last);
        }
    }
    // The order of an element in the queue has changed.
    void moved(T &element) noexcept {
        rise(element.*place - 1);
        sink(element.*place - 1);
    }
    void clear() noexcept {
        for (T *element : elements_) {
            element->*place = 0;
        }
        elements_.clear();
    }
    // Moves all elements to another queue that uses the same member.
    void move_to(PriorityQueue &other) noexcept {
        for (T *element : elements_) {
            other.add(*element);
        }
        elements_.clear();
    }

  private:
    void put(std::size_t at, T *element) noexcept {
        elements_[at] = element;
        element->*place = at + 1;
    }
    void rise(std::size_t at) noexcept {
        T *const element = elements_[at];
        for (; at != 0 && before(*element, *elements_[(at - 1) / 2]); at = (at - 1) / 2) {
            put(at, elements_[(at - 1) / 2]);
        }
        put(at, element);
    }
    void sink(std::size_t at) noexcept {
        T *const element = elements_[at];
        for (std::size_t next = 2 * at + 1; next < elements_.size(); next = 2 * at + 1) {
            if (next + 1 < elements_.size() && before(*elements_[next + 1], *elements_[next])) {
                ++next;
            }
            if (!before(*elements_[next], *element)) {
                break;
            }
            put(at, elements_[next]);
            at = next;
        }
        put(at, element);
    }

    std::vector<T *> elements_;
};

} // namespace sim
