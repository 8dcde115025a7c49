// refused: deleted
#include <cushim/ipc.hpp>

// CUDA closes a whole allocation, and this is a part of one.
void use(cushim::IpcMemory &memory) {
#ifdef MISUSE
    (void)memory.release();
#else
    memory.reset();
#endif
}
