#include "engine/interval_log.hpp"

#include <algorithm>

namespace gpusched {

namespace {

template <class Value>
std::vector<Value> in_a_row(const ChunkedVector<Value>& chunks) {
  std::vector<Value> values;
  values.reserve(chunks.size());
  chunks.for_each([&](const Value& value) { values.push_back(value); });
  return values;
}

bool is_same_interval(const IntervalRow& a, const IntervalRow& b) {
  return a.job == b.job && a.start_us == b.start_us;
}

/// Joins sorted rows: an interval that continues the one before it becomes part of it.
void join_touching(std::vector<IntervalRow>& rows) {
  const auto goes_on = [](const IntervalRow& before, const IntervalRow& row) {
    return before.job == row.job && before.end_us == row.start_us && before.server == row.server &&
           before.mask == row.mask;
  };
  auto last = rows.begin();  // of the interval before, among those that are kept
  auto kept = rows.begin();
  for (auto first = rows.begin(); first != rows.end();) {
    const auto next = std::find_if(first, rows.end(), [&](const IntervalRow& row) {
      return !is_same_interval(row, *first);
    });
    if (std::equal(last, kept, first, next, goes_on)) {
      const std::int64_t end_us = first->end_us;
      std::for_each(last, kept, [&](IntervalRow& row) { row.end_us = end_us; });
    } else {
      last = kept;
      kept = kept == first ? next : std::move(first, next, kept);
    }
    first = next;
  }
  rows.erase(kept, rows.end());
}

}  // namespace

std::vector<IntervalRow> IntervalLog::rows(const JobRecords& records, std::size_t num_jobs) const {
  // Counting sort by job: the rows of one job are few, and only those are compared.
  std::vector<std::size_t> first(num_jobs + 1);
  intervals_.for_each([&](const Interval& interval) {
    first[interval.job + 1] += std::max<std::uint32_t>(1, interval.num_pieces);
  });
  for (std::size_t job = 0; job < num_jobs; ++job) first[job + 1] += first[job];

  std::vector<IntervalRow> rows(first[num_jobs]);
  std::vector<std::size_t> next(first.begin(), first.end() - 1);
  const std::vector<Piece> pieces = in_a_row(pieces_);
  const std::vector<Times> times = in_a_row(times_);
  auto piece = pieces.cbegin();
  auto next_times = times.cbegin();
  intervals_.for_each([&](const Interval& interval) {
    const JobRecord& record = records[interval.job];
    const Times held = interval.is_whole != 0 ? Times{record.start, record.finish} : *next_times++;
    const auto add = [&](std::int64_t server, GpuMask mask) {
      rows[next[interval.job]++] = {interval.job, held.start.count(), held.end.count(), server,
                                    mask};
    };
    if (interval.num_pieces == 0) add(kPool, 0);
    for (std::uint32_t k = 0; k < interval.num_pieces; ++k, ++piece) {
      add(piece->server, piece->mask);
    }
  });

  const auto by_start = [](const IntervalRow& a, const IntervalRow& b) {
    return a.start_us != b.start_us ? a.start_us < b.start_us : a.server < b.server;
  };
  bool touches = false;
  for (std::size_t job = 0; job < num_jobs; ++job) {
    const auto begin = rows.begin() + static_cast<std::ptrdiff_t>(first[job]);
    const auto end = rows.begin() + static_cast<std::ptrdiff_t>(first[job + 1]);
    if (end - begin <= 1) continue;
    std::sort(begin, end, by_start);
    touches = touches || std::adjacent_find(begin, end, [](const auto& a, const auto& b) {
                           return a.end_us == b.start_us;
                         }) != end;
  }
  if (touches) join_touching(rows);
  return rows;
}

}  // namespace gpusched
