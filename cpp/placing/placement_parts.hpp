#pragma once

#include <algorithm>
#include <queue>

#include "model/allocation.hpp"
#include "seams/occupancy.hpp"

namespace gpusched {

/// Walks the servers with free GPUs by (free count, id), upwards or downwards in the count and
/// always upwards in the id.
class LevelCursor {
 public:
  enum class Direction { up, down };

  LevelCursor(const Occupancy& free, TypeMask types, Direction direction)
      : free_(free),
        types_(types),
        direction_(direction),
        level_(direction == Direction::up ? free.least_level(types, 1)
                                          : free.greatest_level(types)) {}

  /// Moves to the next server; false when there is none left.
  bool advance() {
    while (level_ > 0) {
      server_ = free_.next_server(types_, level_, server_);
      if (server_ >= 0) return true;
      level_ = direction_ == Direction::up ? free_.least_level(types_, level_ + 1)
                                           : free_.level_below(types_, level_);
    }
    return false;
  }

  [[nodiscard]] ServerId server() const noexcept { return server_; }
  /// Free GPUs of the present server.
  [[nodiscard]] int level() const noexcept { return level_; }

 private:
  const Occupancy& free_;
  TypeMask types_;
  Direction direction_;
  int level_;
  ServerId server_ = -1;
};

/// Adds up to `rest` GPUs of the server to the allocation; returns how many.
inline int take(const Occupancy& free, ServerId server, int rest, Allocation& out) {
  const int taken = std::min(rest, free.free_gpus(server));
  out.pieces.push_back(free.lowest_free(server, taken));
  return taken;
}

/// Adds GPUs of the server with the fewest sufficient free ones; false if there is none.
inline bool take_best_fit(const Occupancy& free, TypeMask types, int gpus, Allocation& out) {
  const int level = free.least_level(types, gpus);
  if (level == 0) return false;
  out.pieces.push_back(free.lowest_free(free.next_server(types, level, -1), gpus));
  return true;
}

/// Takes the allocation's GPUs one at a time, each from the server that is then the greatest; what
/// a server has given counts at once. `untouched` walks the servers from the greatest down:
/// `advance()`, and `current()` with `id` and `num_free`.
template <class Cursor>
void take_one_by_one(const Occupancy& free, Cursor& untouched, Allocation& out) {
  bool is_left = untouched.advance();
  std::priority_queue<typename Cursor::Server> touched;
  for (int rest = out.gpus; rest > 0; --rest) {
    typename Cursor::Server chosen = untouched.current();
    if (is_left && (touched.empty() || touched.top() < chosen)) {
      is_left = untouched.advance();
    } else {
      chosen = touched.top();
      touched.pop();
    }
    --chosen.num_free;
    touched.push(chosen);
  }
  for (; !touched.empty(); touched.pop()) {
    const auto& server = touched.top();
    const int taken = free.free_gpus(server.id) - server.num_free;
    out.pieces.push_back(free.lowest_free(server.id, taken));
  }
}

/// Allocations name their servers in order.
inline void sort_by_server(Allocation& out) {
  if (out.pieces.size() < 2) return;
  std::sort(out.pieces.begin(), out.pieces.end(),
            [](const Piece& a, const Piece& b) { return a.server < b.server; });
}

/// The fewest servers possible: whole ones of the largest size, and the remainder on the server
/// with the fewest free GPUs that holds it. False if that is not possible now.
bool place_consolidated(const Occupancy& free, const Request& request, Allocation& out);

/// The largest job that place_consolidated can place now.
[[nodiscard]] std::int64_t widest_consolidated(const Occupancy& free, TypeMask types);

}  // namespace gpusched
