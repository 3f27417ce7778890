// Runs saved cases on the core alone and prints their digests: what sanitizers, profilers and
// fuzzers drive. A case is a flat file that Result.save_case writes.

#include <algorithm>
#include <atomic>
#include <chrono>
#include <compare>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/check.hpp"
#include "case_reader.hpp"
#include "engine/schedule.hpp"
#include "runs/run_description.hpp"
#include "watchdog.hpp"

namespace {

using namespace gpusched;

constexpr const char* kUsage =
    "usage: gpusched-replay CASE [RUNS] [--verify] [--threads N] [--seconds S]\n"
    "       gpusched-replay DIRECTORY|@LIST [--verify] [--threads N] [--seconds S]\n"
    "\n"
    "Prints the digest of the case, or of each case: all files of a directory by name, or those\n"
    "that a list names, one a line. With several threads each thread runs each case, on tables\n"
    "that they share. --seconds stops a run that takes longer.\n"
    "\n"
    "Exit code 0: all ran; 2: a case was refused, or two runs of one differed; 3: one was stopped.\n";

constexpr int kRefused = 2;
constexpr int kStopped = 3;

struct Options {
  std::string cases;
  int num_runs = 1;
  unsigned num_threads = 1;
  double seconds = 0;
  bool verify = false;

  /// Whether the argument is a set of cases, even of one.
  [[nodiscard]] bool is_many() const {
    return cases.front() == '@' || std::filesystem::is_directory(cases);
  }
};

/// The outcome of one run: a digest, or the reason why there is none.
struct Outcome {
  int status = 0;
  std::string text = {};

  auto operator<=>(const Outcome&) const = default;
};

/// A case and what became of its runs. The tables are shared by the threads that run it.
struct Entry {
  std::filesystem::path path;
  std::once_flag is_read = {};
  std::unique_ptr<const Case> columns = nullptr;
  std::unique_ptr<const JobTable> jobs = nullptr;
  std::unique_ptr<const Cluster> cluster = nullptr;
  std::mutex mutex = {};
  unsigned num_left = 0;
  std::vector<Outcome> outcomes = {};

  explicit Entry(std::filesystem::path where) : path(std::move(where)) {}

  void read() {
    columns = std::make_unique<const Case>(path);
    jobs = std::make_unique<const JobTable>(columns->make_jobs());
    cluster = std::make_unique<const Cluster>(columns->make_cluster());
  }

  void forget() {
    cluster.reset();
    jobs.reset();
    columns.reset();
  }

  /// The outcome of all runs; the worst one if they differ.
  [[nodiscard]] Outcome outcome() const {
    const auto [best, worst] = std::minmax_element(outcomes.begin(), outcomes.end());
    if (*best == *worst || worst->status == kStopped) return *worst;
    return {kRefused, "one run gave " + best->text + ", another " + worst->text};
  }
};

std::string run(const Entry& entry, const Options& options, Watchdog& dog) {
  RunDescription description = entry.columns->description;
  description.verify = options.verify;
  const auto begin = std::chrono::steady_clock::now();
  RunControl control;
  const Watchdog::Watch watch(dog, control);
  DescribedRun described(*entry.jobs, *entry.cluster, description, control);
  described.simulation().run();
  const Schedule schedule = described.simulation().finish();
  const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - begin;
  if (!options.is_many()) std::fprintf(stderr, "%.6f s\n", wall.count());
  return schedule.digest();
}

/// Runs a case once and stores the result; the last run prints it.
void replay(Entry& entry, const Options& options, Watchdog& dog) {
  Outcome outcome;
  try {
    std::call_once(entry.is_read, [&] { entry.read(); });
    outcome.text = run(entry, options, dog);
  } catch (const Stopped& stopped) {
    outcome = {kStopped, stopped.what()};
  } catch (const std::exception& refused) {
    outcome = {kRefused, refused.what()};
  }
  const std::lock_guard lock(entry.mutex);
  entry.outcomes.push_back(outcome);
  if (--entry.num_left > 0) return;
  entry.forget();
  outcome = entry.outcome();
  const std::string where = options.is_many() ? "  " + entry.path.string() : "";
  const bool is_digest = outcome.status == 0;
  if (!is_digest) {
    std::fprintf(stderr, "gpusched-replay: %s%s\n", outcome.text.c_str(), where.c_str());
  }
  if (is_digest || options.is_many()) {
    std::printf("%s%s\n", is_digest ? outcome.text.c_str() : "refused", where.c_str());
    std::fflush(stdout);
  }
}

int replay_all(std::vector<std::unique_ptr<Entry>>& entries, const Options& options) {
  Watchdog dog{std::chrono::duration<double>(options.seconds)};
  const auto num_runs = static_cast<unsigned>(options.num_runs) * options.num_threads;
  for (auto& entry : entries) entry->num_left = num_runs;
  std::atomic<std::size_t> next{0};
  const auto work = [&] {
    for (;;) {
      const std::size_t turn = next.fetch_add(1);
      if (turn / num_runs >= entries.size()) return;
      replay(*entries[turn / num_runs], options, dog);
    }
  };
  std::vector<std::thread> threads;
  for (unsigned other = 1; other < options.num_threads; ++other) threads.emplace_back(work);
  work();
  for (std::thread& thread : threads) thread.join();
  int status = 0;
  for (const auto& entry : entries) status = std::max(status, entry->outcome().status);
  return status;
}

std::vector<std::unique_ptr<Entry>> entries_of(const std::string& cases) {
  std::vector<std::filesystem::path> paths;
  if (cases.front() == '@') {
    std::ifstream list(cases.substr(1));
    if (!list) fail_input(cases.substr(1) + ": cannot be read");
    for (std::string line; std::getline(list, line);) {
      if (!line.empty()) paths.emplace_back(line);
    }
  } else if (std::filesystem::is_directory(cases)) {
    for (const auto& file : std::filesystem::directory_iterator(cases)) {
      if (file.is_regular_file()) paths.push_back(file.path());
    }
    std::sort(paths.begin(), paths.end());
  } else {
    paths.emplace_back(cases);
  }
  std::vector<std::unique_ptr<Entry>> entries;
  for (auto& path : paths) entries.push_back(std::make_unique<Entry>(std::move(path)));
  return entries;
}

/// A number from 1 on, as an argument; throws InvalidInput for anything else.
int count_of(const std::string& text) {
  constexpr int kMost = 1'000'000;
  std::size_t end = 0;
  int value = 0;
  try {
    value = std::stoi(text, &end);
  } catch (const std::exception&) {
    end = 0;
  }
  if (end == 0 || end != text.size() || value < 1 || value > kMost) {
    fail_input("must be a number from 1 to 1,000,000, not " + text);
  }
  return value;
}

double seconds_of(const std::string& text) {
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  if (end == text.c_str() || *end != '\0' || !(value >= 0 && value <= 1e6)) {
    fail_input("must be seconds from 0 to 1,000,000, not " + text);
  }
  return value;
}

Options options_of(const std::vector<std::string>& arguments) {
  Options options;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string& argument = arguments[i];
    const auto value = [&]() -> const std::string& {
      if (++i == arguments.size()) fail_input(argument + ": missing value");
      return arguments[i];
    };
    if (argument == "--verify") {
      options.verify = true;
    } else if (argument == "--threads") {
      options.num_threads = static_cast<unsigned>(count_of(value()));
    } else if (argument == "--seconds") {
      options.seconds = seconds_of(value());
    } else if (argument.starts_with("--")) {
      fail_input("unknown option " + argument);
    } else if (options.cases.empty()) {
      options.cases = argument;
    } else {
      options.num_runs = count_of(argument);
    }
  }
  return options;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const Options options = options_of({argv + 1, argv + argc});
    if (options.cases.empty()) {
      std::fputs(kUsage, stderr);
      return kRefused;
    }
    auto entries = entries_of(options.cases);
    return replay_all(entries, options);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "gpusched-replay: %s\n", error.what());
    return kRefused;
  }
}
