// A program that makes the calls of one file.
#include "call.hpp"

int main() {
    return library_calls();
}
