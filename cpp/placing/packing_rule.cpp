#include "placing/packing_rule.hpp"

#include <bit>

namespace gpusched {
namespace {

/// The GPU of a share: the first for which `better(its free part, best so far)` held last.
template <class Better>
Piece share_piece(const Occupancy& free, ServerId server, int share_milli, bool whole_first,
                  Better better) {
  int best = -1;
  int best_milli = 0;
  for (GpuMask rest = free.shared_mask(server); rest != 0; rest &= rest - 1) {
    const int gpu = std::countr_zero(rest);
    const int milli = free.free_milli(server, gpu);
    if (milli < share_milli || (best >= 0 && !better(milli, best_milli))) continue;
    best = gpu;
    best_milli = milli;
  }
  if (best < 0 || (whole_first && free.free_gpus(server) > 0)) return free.lowest_free(server, 1);
  return {server, GpuMask{1} << best, 1};
}

}  // namespace

Piece tight_piece(const Occupancy& free, ServerId server, const Ask& ask) noexcept {
  if (ask.workers == 0) return {server, 0, 0};
  if (!ask.demand.is_share()) return free.lowest_free(server, ask.workers);
  return share_piece(free, server, ask.demand.share_milli, false,
                     [](int milli, int best) { return milli < best; });
}

Piece loose_piece(const Occupancy& free, ServerId server, const Ask& ask) noexcept {
  if (ask.workers == 0) return {server, 0, 0};
  if (!ask.demand.is_share()) return free.lowest_free(server, ask.workers);
  return share_piece(free, server, ask.demand.share_milli, true,
                     [](int milli, int best) { return milli > best; });
}

}  // namespace gpusched
