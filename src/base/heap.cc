#include "base/heap.h"

#include <malloc.h>

namespace partita {

void KeepFreedMemory() {
#ifdef M_TRIM_THRESHOLD
  mallopt(M_MMAP_MAX, 0);         // large arrays come from the heap, too
  mallopt(M_TRIM_THRESHOLD, -1);  // which never shrinks
#endif
}

}  // namespace partita
