#include "placing/percent_order.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "base/rng.hpp"

namespace gpusched {

void PercentOrder::begin(const PlacementSetup& setup) {
  if (!is_asked_) return;
  num_servers_ = setup.state.cluster().num_servers();
  const auto size = static_cast<std::size_t>(num_servers_);
  std::vector<std::pair<std::uint64_t, std::size_t>> drawn(size);
  for (std::size_t server = 0; server < size; ++server) {
    drawn[server] = {draw(setup.seed, Stream::servers, server, 0), server};
  }
  std::sort(drawn.begin(), drawn.end());
  place_.assign(size, 0);
  for (std::size_t place = 0; place < size; ++place) {
    place_[drawn[place].second] = static_cast<std::int64_t>(place);
  }
}

ParameterInfo PercentOrder::option(const char* scores) {
  return {.name = kOption,
          .fallback = false,
          .help = std::string("score like the authors' program of FGD: ") + scores +
                  ", in whole per cent; ties are broken by a random order of the servers, drawn "
                  "once per run",
          .flags = {Flag::random}};
}

}  // namespace gpusched
