#include "reserving/ruled_out.hpp"

#include <algorithm>

namespace gpusched {

void RuledOut::begin(Time now) {
  now_ = now;
  for (Row& row : rows_) row.entries.clear();
}

Time RuledOut::from(int gpus, Time length, Time limit) const {
  const auto* const row = entries(gpus);
  if (row == nullptr) return now_;
  auto entry = row->size();
  while (entry > 0 && (*row)[entry - 1].length > length) --entry;
  return entry > 0 ? std::min((*row)[entry - 1].from, limit) : now_;
}

Time RuledOut::from_before(int gpus, Time length, Time limit) const {
  const auto* const row = entries(gpus);
  auto entry = row->size();
  const auto is_beyond = [&](const Entry& each) {
    return each.length > length || each.from >= limit;
  };
  while (entry > 0 && is_beyond((*row)[entry - 1])) --entry;
  return entry > 0 ? (*row)[entry - 1].from : now_;
}

void RuledOut::rule_out(int gpus, Time length, Time from) {
  const auto width = static_cast<std::size_t>(gpus);
  if (width >= row_of_.size()) row_of_.resize(width + 1, 0);
  if (row_of_[width] == 0) {
    rows_.push_back({gpus, {}});
    row_of_[width] = rows_.size();
  }
  auto& row = rows_[row_of_[width] - 1].entries;
  auto place = std::lower_bound(row.begin(), row.end(), length,
                                [](const Entry& each, Time value) { return each.length < value; });
  if (place != row.begin() && (place - 1)->from >= from) return;
  auto end = place;
  while (end != row.end() && end->from <= from) ++end;
  if (place == end) {
    row.insert(place, {length, from});
  } else {
    *place = {length, from};
    row.erase(place + 1, end);
  }
}

void RuledOut::give_back(Time at, std::int64_t free_before) {
  for (Row& row : rows_) {
    auto& kept = row.entries;
    Time length{0};
    bool is_cut = false;
    for (; !kept.empty() && kept.back().from > at; kept.pop_back()) {
      length = kept.back().length;
      is_cut = true;
    }
    // Else what is free there began before, as far as is known at the entry before.
    if (is_cut && row.gpus > free_before) kept.push_back({length, at});
  }
}

}  // namespace gpusched
