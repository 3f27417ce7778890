// Lets every allocation of a case fail in turn: that of its reading, its tables, its run and its
// digest. Each must end in std::bad_alloc, or in nothing where memory was only wished for, give back
// all that was taken, and leave a process that then runs the case as before.

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <new>
#include <string>
#include <system_error>
#include <vector>

#include "engine/schedule.hpp"
#include "runs/run_description.hpp"
#include "tools/case_reader.hpp"

namespace {

/// How many allocations still succeed; below zero all do. The tool has one thread.
std::int64_t g_left = -1;
std::int64_t g_live = 0;
std::int64_t g_asked = 0;

void* taken(std::size_t size, std::size_t alignment) noexcept {
  ++g_asked;
  if (g_left == 0) return nullptr;
  if (g_left > 0) --g_left;
  void* memory =
      alignment <= alignof(std::max_align_t)
          ? std::malloc(size == 0 ? 1 : size)
          : std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
  if (memory != nullptr) ++g_live;
  return memory;
}

void* taken_or_thrown(std::size_t size, std::size_t alignment) {
  void* memory = taken(size, alignment);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

void given_back(void* memory) noexcept {
  if (memory != nullptr) --g_live;
  std::free(memory);
}

constexpr std::size_t kPlain = alignof(std::max_align_t);

}  // namespace

void* operator new(std::size_t size) { return taken_or_thrown(size, kPlain); }
void* operator new[](std::size_t size) { return taken_or_thrown(size, kPlain); }
void* operator new(std::size_t size, std::align_val_t at) {
  return taken_or_thrown(size, static_cast<std::size_t>(at));
}
void* operator new[](std::size_t size, std::align_val_t at) {
  return taken_or_thrown(size, static_cast<std::size_t>(at));
}
void* operator new(std::size_t size, const std::nothrow_t&) noexcept { return taken(size, kPlain); }
void* operator new[](std::size_t size, const std::nothrow_t&) noexcept {
  return taken(size, kPlain);
}
void operator delete(void* memory) noexcept { given_back(memory); }
void operator delete[](void* memory) noexcept { given_back(memory); }
void operator delete(void* memory, std::size_t) noexcept { given_back(memory); }
void operator delete[](void* memory, std::size_t) noexcept { given_back(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { given_back(memory); }
void operator delete[](void* memory, std::align_val_t) noexcept { given_back(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { given_back(memory); }
void operator delete[](void* memory, std::size_t, std::align_val_t) noexcept { given_back(memory); }
void operator delete(void* memory, const std::nothrow_t&) noexcept { given_back(memory); }
void operator delete[](void* memory, const std::nothrow_t&) noexcept { given_back(memory); }

namespace {

using namespace gpusched;

std::string digest_of(const std::filesystem::path& path) {
  const Case columns(path);
  const JobTable jobs = columns.make_jobs();
  const Cluster cluster = columns.make_cluster();
  RunControl control;
  DescribedRun described(jobs, cluster, columns.description, control);
  described.simulation().run();
  return described.simulation().finish().digest();
}

/// The results of the failures of one case.
struct Counts {
  std::int64_t failed = 0;
  std::int64_t borne = 0;  // failed allocations after which the run succeeded
};

/// Why a failure of allocation `place` was not borne well; empty if it was.
std::string judged(const std::filesystem::path& path, const std::string& digest, std::int64_t place,
                   Counts& counts) {
  const std::int64_t live = g_live;
  try {
    g_left = place;
    const std::string found = digest_of(path);
    g_left = -1;
    if (found != digest) return "another digest";
    ++counts.borne;
  } catch (const std::bad_alloc&) {
    g_left = -1;
    ++counts.failed;
  } catch (const std::exception& other) {
    g_left = -1;
    return std::string("another error: ") + other.what();
  }
  return g_live == live ? "" : std::to_string(g_live - live) + " allocations were not given back";
}

int starve(const std::filesystem::path& path, std::int64_t most) {
  const std::string digest = digest_of(path);  // what is made once stays
  const std::int64_t begun = g_asked;
  if (digest_of(path) != digest) {
    std::fprintf(stderr, "%s: two runs differ\n", path.c_str());
    return 1;
  }
  const std::int64_t all = g_asked - begun;
  const std::int64_t stride = most > 0 && all > most ? (all + most - 1) / most : 1;
  Counts counts;
  for (std::int64_t place = 0; place < all; place += stride) {
    std::string fault = judged(path, digest, place, counts);
    if (fault.empty() && digest_of(path) != digest) fault = "the next run has another digest";
    if (!fault.empty()) {
      std::fprintf(stderr, "%s: allocation %lld of %lld fails: %s\n", path.c_str(),
                   static_cast<long long>(place), static_cast<long long>(all), fault.c_str());
      return 1;
    }
  }
  std::printf("%lld of %lld allocations failed, %lld of them borne  %s\n",
              static_cast<long long>(counts.failed + counts.borne), static_cast<long long>(all),
              static_cast<long long>(counts.borne), path.c_str());
  std::fflush(stdout);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr,
                 "usage: gpusched-starve DIRECTORY [MOST]\n\n"
                 "Runs each case of a directory as often as it allocates, and lets another\n"
                 "allocation fail each time; with MOST at most so many of a case.\n");
    return 2;
  }
  std::vector<std::filesystem::path> paths;
  std::error_code error;
  for (const auto& file : std::filesystem::directory_iterator(argv[1], error)) {
    paths.push_back(file.path());
  }
  if (error || paths.empty()) {
    std::fprintf(stderr, "gpusched-starve: %s: no directory of cases\n", argv[1]);
    return 2;
  }
  int status = 0;
  for (const auto& path : paths) {
    status |= starve(path, argc > 2 ? std::atoll(argv[2]) : 0);
  }
  return status;
}
