#include <bit>

#include "base/registry.hpp"
#include "placing/packing_placement.hpp"

namespace gpusched {
namespace {

/// The GPUs [start, start + size) of a server, as far as it has them.
constexpr GpuMask block_of(int start, int size, GpuMask all) noexcept {
  const GpuMask ones = size >= 64 ? ~GpuMask{0} : (GpuMask{1} << size) - 1;
  return ones << start & all;
}

/// Aligned blocks of powers of two, split and merged. A job takes the lowest free GPUs of one block
/// of the next power of two above its width; the GPUs left form blocks again. A server whose size
/// is not a power of two is the front of the next such block.
struct BuddyRule : PackingRule {
  static constexpr Likeness kLikeness = Likeness::masks;

  struct Block {
    GpuMask free;  // 0: there is none
    int score;     // free GPUs of the largest free block around it, or of itself
  };

  [[nodiscard]] static Block smallest_block(GpuMask free, int gpus, int width) noexcept {
    if (std::has_single_bit(static_cast<unsigned>(gpus)) &&
        std::has_single_bit(static_cast<unsigned>(width))) {
      return smallest_power(free, gpus, width);
    }
    const GpuMask all = block_of(0, gpus, ~GpuMask{0});
    const int size = static_cast<int>(std::bit_ceil(static_cast<unsigned>(width)));
    Block best{0, kMaxGpusPerServer + 1};
    for (int start = 0; start < gpus; start += size) {
      GpuMask block = block_of(start, size, all);
      const GpuMask inside = free & block;
      if (count_bits(inside) < width) continue;
      for (int larger = size; block == (free & block) && larger < gpus;) {
        larger *= 2;
        const GpuMask parent = block_of(start & -larger, larger, all);
        if ((free & parent) != parent) break;
        block = parent;
      }
      const int score = count_bits(free & block);
      if (score < best.score) best = {inside, score};
    }
    return best;
  }

  /// The same if all are powers of two, all blocks of one size at a time: a bit marks the start of
  /// a block.
  [[nodiscard]] static Block smallest_power(GpuMask free, int gpus, int width) noexcept {
    GpuMask blocks = free;
    for (int size = 1; size < width; size *= 2) blocks = merged(blocks, size);
    for (int size = width; blocks != 0; size *= 2) {
      const GpuMask larger = size < gpus ? merged(blocks, size) : 0;
      const GpuMask alone = blocks & ~(larger | larger << size % kMaxGpusPerServer);
      if (alone != 0) return {block_of(std::countr_zero(alone), width, ~GpuMask{0}), size};
      blocks = larger;
    }
    return {0, 0};
  }

  /// From the free blocks of one size to those of the next, which two of them make.
  [[nodiscard]] static GpuMask merged(GpuMask blocks, int size) noexcept {
    constexpr GpuMask kStarts[] = {0x5555555555555555, 0x1111111111111111, 0x0101010101010101,
                                   0x0001000100010001, 0x0000000100000001, 1};
    return blocks & blocks >> size & kStarts[std::countr_zero(static_cast<unsigned>(size))];
  }

  [[nodiscard]] double score(const Occupancy& free, ServerId server,
                             const Ask& ask) const noexcept {
    if (ask.workers == 0) return free.free_gpus(server);
    if (ask.demand.is_share()) {
      const Piece piece = tight_piece(free, server, ask);
      const int milli = free.free_milli(server, std::countr_zero(piece.mask));
      if (milli < kWholeGpu) return static_cast<double>(milli) / kWholeGpu;
    }
    const Block block =
        smallest_block(free.free_mask(server), free.cluster().gpus(server), ask.workers);
    return block.free == 0 ? LeastScore::kNever : block.score;
  }

  [[nodiscard]] Piece piece(const Occupancy& free, ServerId server, const Ask& ask) const noexcept {
    if (ask.workers == 0) return {server, 0, 0};
    if (ask.demand.is_share()) {
      const Piece part = tight_piece(free, server, ask);
      if ((part.mask & free.free_mask(server)) == 0) return part;
    }
    const Block block =
        smallest_block(free.free_mask(server), free.cluster().gpus(server), ask.workers);
    return {server, lowest_bits(block.free, ask.workers), ask.workers};
  }
};

/// A job that no server holds takes idle servers, the largest first, and a block for the rest.
class Buddy final : public PackingPlacement<BuddyRule> {
 public:
  void begin(const PlacementSetup& setup) override {
    PackingPlacement::begin(setup);
    const Cluster& cluster = setup.state.cluster();
    is_uniform_ = true;
    for (ServerId server = 1; server < cluster.num_servers(); ++server) {
      is_uniform_ = is_uniform_ && cluster.gpus(server) == cluster.gpus(0);
    }
  }

  bool place(const Occupancy& free, const Request& request, Allocation& out) override {
    if (request.gpus_per_node > 0) return packer_.place(free, request, out);
    int size = packer_.start(free, request, out);
    if (request.gpus <= size) {
      return packer_.add(free, packer_.ask(request, request.gpus), 1, out) == 1;
    }
    if (request.gpus > free.num_free(request.types)) return false;
    int rest = request.gpus;
    for (; rest > 0 && size > 0; size = free.level_below(request.types, size)) {
      if (rest < size) continue;
      rest -= size * packer_.add(free, packer_.whole(request, size), rest / size, out);
    }
    if (rest > 0 && packer_.add(free, packer_.ask(request, rest), 1, out) == 0) return false;
    sort_by_server(out);
    return true;
  }

  /// Idle servers of several sizes may hold together what none of the largest does.
  [[nodiscard]] std::int64_t widest(const Occupancy& free, TypeMask types) const override {
    return is_uniform_ ? packer_.widest(free, types) : free.num_free(types);
  }

 private:
  bool is_uniform_ = false;  // all servers have one size
};

}  // namespace

GPUSCHED_REGISTER(
    Placement, Buddy, .name = "buddy",
    .summary = "The smallest aligned power-of-two block that fits the job; or whole servers.",
    .source = "Knowlton, CACM 8, 1965; Zhao et al., HiveD, OSDI 2020; ElasticFlow, ASPLOS 2023.",
    .flags = {Flag::demands, Flag::shares, Flag::scatters})

}  // namespace gpusched
