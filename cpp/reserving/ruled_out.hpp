#pragma once

#include <vector>

#include "base/time.hpp"

namespace gpusched {

/// From when on a search for GPUs of one width needs to look, by its length: what was in vain for
/// somebody is in vain for those who want as much for as long and longer, until GPUs are given back.
class RuledOut {
 public:
  /// No room so long begins before this instant; 0 if nothing is known.
  [[nodiscard]] Time until(Time length) const;
  /// A search found nothing so long that begins before `until`.
  void rule_out(Time length, Time until);
  /// There is room between these instants that was not there.
  void give_back(Time begin, Time end);

 private:
  /// Both rise.
  struct Entry {
    Time length;
    Time until;
  };

  std::vector<Entry> entries_;
};

}  // namespace gpusched
