// A doubly linked list of elements that store their own links: adding and removing allocate
// nothing, and any element can be removed.
#pragma once

namespace sim {

template <class T, auto place>
class LinkedList;

// What an element stores. A copy of an element is in no list.
template <class T>
class ListPlace {
  public:
    ListPlace() = default;
    ListPlace(const ListPlace &) noexcept {}
    // NOLINTNEXTLINE(bugprone-unhandled-self-assignment): assigns nothing
    ListPlace &operator=(const ListPlace &) noexcept { return *this; }

  private:
    template <class, auto>
    friend class LinkedList;
    void *list = nullptr; // null: in no list
    T *previous = nullptr, *next = nullptr;
};

// `place` is a member of type ListPlace<T>; an element is in at most one list that uses it. The
// list does not own its elements, which may outlive it.
template <class T, auto place>
class LinkedList {
  public:
    LinkedList() = default;
    LinkedList(const LinkedList &) = delete;
    LinkedList &operator=(const LinkedList &) = delete;
    ~LinkedList() {
        while (first_ != nullptr) {
            remove(*first_);
        }
    }

    T *first() const noexcept { return first_; }
    static T *next(const T &element) noexcept { return (element.*place).next; }

    static bool contains(const T &element) noexcept { return (element.*place).list != nullptr; }

    // Adds an element that is in no list, at the end.
    void add(T &element) noexcept {
        ListPlace<T> &own = element.*place;
        own.list = this;
        own.previous = last_;
        (last_ != nullptr ? (last_->*place).next : first_) = &element;
        last_ = &element;
    }
    // No effect if the element is in no list.
    static void remove(T &element) noexcept {
        ListPlace<T> &own = element.*place;
        if (auto *const list = static_cast<LinkedList *>(own.list)) {
            (own.previous != nullptr ? (own.previous->*place).next : list->first_) = own.next;
            (own.next != nullptr ? (own.next->*place).previous : list->last_) = own.previous;
            own.list = nullptr;
            own.previous = own.next = nullptr;
        }
    }

  private:
    T *first_ = nullptr, *last_ = nullptr;
};

} // namespace sim
