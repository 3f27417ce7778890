#include "listing/class_tree.hpp"

namespace gpusched {

void ClassTree::begin(const JobClasses& classes) {
  classes_ = &classes;
  nodes_.clear();
  begins_.clear();
  if (classes.num_classes() <= kFewClasses) return;
  std::size_t begin = 0;
  for (std::size_t size = classes.num_classes(); size > 1;) {
    size = (size + kFanout - 1) / kFanout;
    begins_.push_back(begin);
    begin += size == 1 ? 1 : (size + kFanout - 1) / kFanout * kFanout;
  }
  nodes_.resize(begin);
}

ClassTree::Needs ClassTree::needs_of(const Leaves& leaves, std::size_t id) const noexcept {
  const auto own = static_cast<ClassId>(id);
  Needs needs;
  needs.room = classes_->room(own);
  // Who was refused is to be asked about wherever it could fit now: else the servers that it could
  // fit on would be forgotten.
  if (!leaves.shortest.empty() && leaves.is_refused[id] == 0) needs.shortest = leaves.shortest[id];
  const Demand* demand = leaves.is_refused[id] != 0 ? classes_->demand(own) : nullptr;
  if (demand == nullptr) return needs;
  const int workers = std::max(1, classes_->gpus(own));
  needs.cpu_milli = demand->cpu_milli * workers;
  needs.memory_mib = demand->memory_mib * workers;
  return needs;
}

void ClassTree::update(ClassId id, const Leaves& leaves) noexcept {
  const auto merge = [](Node& into, const Node& child) {
    if (child.head.job == kNoJob) return;
    if (into.head.job == kNoJob) {
      into = child;
      return;
    }
    if (child.head < into.head) into.head = child.head;
    into.needs.room = std::min(into.needs.room, child.needs.room);
    into.needs.cpu_milli = std::min(into.needs.cpu_milli, child.needs.cpu_milli);
    into.needs.memory_mib = std::min(into.needs.memory_mib, child.needs.memory_mib);
    into.needs.shortest = std::min(into.needs.shortest, child.needs.shortest);
  };
  std::size_t at = id / kFanout;
  Node node;
  const std::size_t last = std::min((at + 1) * kFanout, leaves.heads.size());
  for (std::size_t child = at * kFanout; child < last; ++child) merge(node, leaf(leaves, child));
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
