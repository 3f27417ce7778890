#include "queueing/class_heads.hpp"

namespace gpusched {

void ClassHeads::begin(const JobClasses& classes) {
  classes_ = &classes;
  heads_.assign(classes.num_classes(), kNoKeyedJob);
  is_closed_.assign(classes.num_classes(), 0);
  is_refused_.assign(classes.num_classes(), 0);
  closed_.clear();
  shortest_.clear();
  nodes_.clear();
  begins_.clear();
  if (classes.num_classes() <= kFewClasses) return;
  shortest_.assign(classes.num_classes(), 0);
  std::size_t begin = 0;
  for (std::size_t size = classes.num_classes(); size > 1;) {
    size = (size + kFanout - 1) / kFanout;
    begins_.push_back(begin);
    begin += size == 1 ? 1 : (size + kFanout - 1) / kFanout * kFanout;
  }
  nodes_.resize(begin);
}

void ClassHeads::clear() noexcept {
  std::fill(heads_.begin(), heads_.end(), kNoKeyedJob);
  std::fill(is_closed_.begin(), is_closed_.end(), 0);
  std::fill(nodes_.begin(), nodes_.end(), Node{});
  closed_.clear();
}

ClassHeads::LeastDemand ClassHeads::least_demand(std::size_t id) const noexcept {
  const auto own = static_cast<ClassId>(id);
  LeastDemand least;
  least.room = classes_->room(own);
  // A refused class must be checked wherever it could fit now; otherwise those servers would be
  // forgotten.
  if (is_refused_[id] == 0) {
    least.shortest = shortest_[id];
    return least;
  }
  if (const Demand* demand = classes_->demand(own); demand != nullptr) {
    const int workers = std::max(1, classes_->gpus(own));
    least.cpu_milli = demand->cpu_milli * workers;
    least.memory_mib = demand->memory_mib * workers;
  }
  return least;
}

void ClassHeads::update(ClassId id, std::int64_t shortest) noexcept {
  const auto merge = [](Node& into, const Node& child) {
    if (child.head.job == kNoJob) return;
    if (into.head.job == kNoJob) {
      into = child;
      return;
    }
    if (child.head < into.head) into.head = child.head;
    into.least.room = std::min(into.least.room, child.least.room);
    into.least.cpu_milli = std::min(into.least.cpu_milli, child.least.cpu_milli);
    into.least.memory_mib = std::min(into.least.memory_mib, child.least.memory_mib);
    into.least.shortest = std::min(into.least.shortest, child.least.shortest);
  };
  shortest_[id] = shortest;
  std::size_t at = id / kFanout;
  Node node;
  const std::size_t last = std::min((at + 1) * kFanout, heads_.size());
  for (std::size_t child = at * kFanout; child < last; ++child) merge(node, leaf(child));
  nodes_[at] = node;
  for (std::size_t level = 1; level < begins_.size(); ++level) {
    at /= kFanout;
    const Node* children = nodes_.data() + begins_[level - 1] + at * kFanout;
    Node above;
    for (std::size_t child = 0; child < kFanout; ++child) merge(above, children[child]);
    nodes_[begins_[level] + at] = above;
  }
}

}  // namespace gpusched
