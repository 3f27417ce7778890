#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace gpusched {

/// How the GPUs of a job are chosen among those under the cap. Ties go to the lower server, then to
/// the lower GPU; inside a server the least busy GPUs are taken unless noted.
enum class Packing : std::uint8_t {
  /// FA-FFP: a server that holds the job and runs jobs already, then the one with the fewest GPUs
  /// available, then the lowest. If none holds it, the server with the most available (with jobs
  /// first among equals) is taken whole, and the rest goes by the same rule.
  fragment_aware,
  /// LBSGF: the least busy GPUs of the shortest prefix of the servers, by their mean busy time,
  /// that has `inflation` times the job's GPUs.
  balanced,
  /// LS, and FA-FFP as in its theorem: the least busy GPUs of the cluster.
  least_busy,
  /// FF: the lowest GPUs of the lowest servers.
  first_fit,
  /// RAND: a uniform set.
  random
};

/// GPUs of one server, as a mask.
struct GangShare {
  std::int32_t server;
  std::uint64_t gpus;

  friend bool operator==(const GangShare&, const GangShare&) = default;
};

/// A job to pack. `load` is the expected busy time of each of its GPUs in whole ticks, so that sums
/// are exact up to 2^53 and removing a job leaves no trace; `types` has a bit for each allowed GPU
/// type.
struct Gang {
  std::uint32_t job;
  int gpus;
  double load;
  std::uint64_t types;
};

/// Keeps the expected busy time (U) of every GPU with its bound jobs, and binds jobs to GPUs so
/// that U stays under a cap. GPUs can be hidden: they keep their U, and nothing is bound to them.
/// At most one pass over the servers per job, none over the GPUs.
///
/// Yu, Ji, Rajan, Liu, "On Scheduling Ring-All-Reduce Learning Jobs in Multi-Tenant GPU Clusters
/// with Communication Contention", MobiHoc 2022.
class GangPacker {
 public:
  /// A number below `bound` for the `counter`-th draw of a job.
  using Draw = std::function<std::uint64_t(std::uint32_t job, int counter, std::uint64_t bound)>;

  /// One entry per server: its GPUs (1 to 64) and their type (0 to 63). `draw` serves
  /// Packing::random alone.
  GangPacker(std::span<const std::int32_t> server_gpus, std::span<const std::int32_t> server_type,
             Draw draw);

  /// Every GPU is visible, hosts nothing and has U = 0.
  void reset();

  /// Binds the job to visible GPUs with U + load <= cap and adds its load to them, or returns false
  /// and changes nothing. `shares` is sorted by server, each at most once.
  bool place(const Gang& gang, Packing packing, double inflation, double cap,
             std::vector<GangShare>& shares);
  /// The lowest cap under which `place` accepts the job now; infinity if there is none. (FA-FFP, FF
  /// and RAND may choose other GPUs under a higher cap.)
  [[nodiscard]] double least_cap(const Gang& gang, Packing packing, double inflation);
  /// The greatest U of the least busy GPUs, as many as the job requests, hidden or not; infinity if
  /// there are too few. U only grows: under a cap below this plus the load, the job is refused
  /// forever.
  [[nodiscard]] double least_busy_ever(const Gang& gang) const;

  void hide(std::span<const GangShare> shares);
  void show(std::span<const GangShare> shares);
  /// A finished job leaves its servers. Its load stays.
  void leave(std::span<const GangShare> shares);
  /// Unbinds a job that has not started from its GPUs, which must be visible, with its load.
  void take_back(std::span<const GangShare> shares, double load);

  [[nodiscard]] int num_servers() const noexcept { return static_cast<int>(gpus_.size()); }
  [[nodiscard]] int num_gpus() const noexcept { return begin_.back(); }
  /// GPUs that the job may use, hidden or not.
  [[nodiscard]] int num_gpus_for(const Gang& gang) const;
  /// U of every GPU in ticks, server by server.
  [[nodiscard]] std::span<const double> busy() const noexcept { return busy_; }
  /// Where a server's GPUs begin in `busy`.
  [[nodiscard]] int begin(int server) const noexcept { return begin_[at(server)]; }

 private:
  /// The servers in order of a key, kept in order one move at a time.
  class Ranking {
   public:
    void reset(int num_servers);
    void move(std::int32_t server, double key);
    [[nodiscard]] std::int32_t operator[](int rank) const noexcept { return order_[at(rank)]; }
    [[nodiscard]] double key(std::int32_t server) const noexcept { return key_[at(server)]; }

   private:
    std::vector<double> key_;
    std::vector<std::int32_t> order_;
  };

  /// The next available GPU of a server, in a heap with the least busy one on top.
  struct Head {
    double busy;
    std::int32_t server;
    int rank;
  };

  static std::size_t at(int index) noexcept { return static_cast<std::size_t>(index); }
  [[nodiscard]] bool allows(const Gang& gang, std::int32_t server) const noexcept {
    return (gang.types >> type_[at(server)] & 1) != 0;
  }
  /// U of the visible GPU of the given rank: rank 0 is the least busy one.
  [[nodiscard]] double ranked(std::int32_t server, int rank) const noexcept {
    return sorted_[at(begin_[at(server)] + rank)];
  }
  [[nodiscard]] int num_available(const Gang& gang, double cap, std::int32_t server) const;
  [[nodiscard]] std::uint64_t least_busy_of(std::int32_t server, int count) const;

  bool pack_fragment_aware(const Gang& gang, double cap, std::vector<GangShare>& shares);
  bool pack_least_busy(const Gang& gang, double cap, std::vector<GangShare>& shares);
  bool pack_first_fit(const Gang& gang, double cap, std::vector<GangShare>& shares) const;
  bool pack_random(const Gang& gang, double cap, std::vector<GangShare>& shares);
  std::int32_t fitting_server(const Gang& gang, int need, double cap) const;
  void count_available(const Gang& gang, double cap);
  void open_pool(const Gang& gang, double inflation);
  double pop_least(const Gang& gang, std::int32_t& server);

  void add_load(const GangShare& share, double load);
  void refresh(std::int32_t server);
  void sort(std::int32_t server);

  std::vector<std::int32_t> gpus_;
  std::vector<std::int32_t> type_;
  std::vector<int> begin_;
  Draw draw_;

  std::vector<double> busy_;          // U by GPU
  std::vector<double> total_;         // U summed over a server
  std::vector<std::int32_t> hosted_;  // jobs on a server
  // The visible GPUs of a server, by (U, GPU), from its begin on.
  std::vector<std::int32_t> visible_;
  std::vector<double> sorted_;
  std::vector<std::uint8_t> gpu_;
  Ranking by_mean_;   // U over all GPUs of a server
  Ranking by_least_;  // U of its least busy visible GPU

  // Scratch.
  std::vector<Head> heads_;
  int next_rank_ = 0;  // of the server in by_least_ that is to join the heads
  std::vector<int> available_;
  std::vector<std::uint64_t> left_;
};

}  // namespace gpusched
