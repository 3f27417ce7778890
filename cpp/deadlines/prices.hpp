#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace gpusched {

/// The rule for the range in which the price of a GPU in a slot grows.
enum class PriceRule : std::uint8_t {
  density,   ///< running bounds on the value of a GPU slot: lowest / 4, highest
  theory,    ///< as the competitive ratio requires
  constant,  ///< the lower bound of `density` for any number of promised GPUs
  market,    ///< as `density`, but from a floor that is set from outside
};

/// Throws InvalidInput for an unknown name.
[[nodiscard]] PriceRule price_rule_of(std::string_view name);

/// The `degree`-th root of a number of at least 1, by bisection over products alone: the same bits
/// on every machine.
[[nodiscard]] double portable_root(double value, int degree);

/// Prices of a GPU of each type in a slot, by how many GPUs of the type are promised in it:
/// low x (high / low)^(g / exponent_gpus). The bounds follow the jobs seen so far.
class Prices {
 public:
  struct Bounds {
    double low;
    double high;

    friend bool operator==(const Bounds&, const Bounds&) = default;
  };
  /// What one job reveals about a type: its lowest and highest value of a GPU slot; under `theory`,
  /// its value per GPU of its smallest configuration, and the longest window so far.
  struct Sight {
    double least_density;
    double greatest_density;
    double value;
    int least_gpus;     ///< of its configurations on the type
    int greatest_gpus;
  };

  /// GPUs of each type.
  Prices(PriceRule rule, std::span<const std::int64_t> type_gpus);

  [[nodiscard]] PriceRule rule() const noexcept { return rule_; }
  [[nodiscard]] int num_types() const noexcept { return static_cast<int>(types_.size()); }
  [[nodiscard]] int gpus(int type) const noexcept { return at(type).gpus; }
  /// Price of one GPU for a whole slot while `promised` of them are promised, 0 to gpus(type).
  [[nodiscard]] double of(int type, int promised) const noexcept {
    return at(type).table[static_cast<std::size_t>(promised)];
  }
  /// The prices for 0 to gpus(type) promised GPUs.
  [[nodiscard]] std::span<const double> table(int type) const noexcept { return at(type).table; }
  [[nodiscard]] Bounds bounds(int type) const noexcept { return at(type).bounds; }
  /// GPUs over which the price grows from low to high.
  [[nodiscard]] int exponent_gpus(int type) const noexcept { return at(type).exponent_gpus; }
  /// The widest configuration seen.
  [[nodiscard]] int greatest_gpus(int type) const noexcept { return at(type).greatest_gpus; }

  /// A job that could run on the type.
  void see(int type, const Sight& sight);
  /// Adds the window of a job, in slots, after its sights. Rebuilds the tables that changed.
  void see_window(std::int64_t slots);
  /// Under `market`: no GPU of the type costs less. Takes effect with the next `see_window`.
  void set_floor(int type, double price) { types_[static_cast<std::size_t>(type)].floor = price; }

 private:
  struct Type {
    int gpus = 0;
    int exponent_gpus = 1;
    int greatest_gpus = 1;
    bool is_seen = false;
    double least_density = 0.0;
    double greatest_density = 0.0;
    double greatest_value_per_gpu = 0.0;
    double floor = 0.0;
    Bounds bounds{1.0, 1.0};
    std::vector<double> table;
    int next_entry = 1;  // of the table, where it is being filled; exponent_gpus: it is filled
    double next_price = 1.0;
    double step = 1.0;
  };

  [[nodiscard]] const Type& at(int type) const noexcept {
    return types_[static_cast<std::size_t>(type)];
  }
  void renew(Type& type);
  void fill_tables();

  PriceRule rule_;
  std::vector<Type> types_;
  std::int64_t all_gpus_ = 0;
  double least_value_ = 0.0;  // 0: no job was seen
  std::int64_t longest_window_ = 1;
};

}  // namespace gpusched
