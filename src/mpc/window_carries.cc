#include "mpc/window_carries.h"

#include "mpc/batch.h"
#include "mpc/engine.h"

namespace partita::mpc {

bool HasWindows(const Engine& engine) { return engine.capabilities().needs_dealer; }

std::vector<WindowCarries> DecomposeWindows(Engine& engine, std::span<const Shared> values,
                                            std::span<const size_t> widths) {
  if (!HasWindows(engine)) Misuse("windows of carries need a dealer");
  Batch batch(engine);
  const Pending<WindowCarries> carries = batch.DecomposeWindows(values, widths);
  batch.Flush();
  return carries.Get();
}

}  // namespace partita::mpc
