#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <chrono>
#include <cstddef>
#include <limits>
#include <optional>
#include <stdexcept>

#include "floor.hpp"

namespace py = pybind11;

namespace {

template <typename Item>
using Column = py::array_t<Item, py::array::c_style>;

template <typename Item>
std::span<const Item> view(const Column<Item>& column) {
  return {column.data(), static_cast<std::size_t>(column.size())};
}

template <typename Item>
std::span<Item> mutable_view(Column<Item>& column) {
  return {column.mutable_data(), static_cast<std::size_t>(column.size())};
}

using Loop = bench_floor::Counts (*)(const bench_floor::Trace&, std::int64_t,
                                     std::span<std::int64_t>, std::span<std::int64_t>);

template <Loop loop>
py::dict run(const Column<std::int64_t>& submit_us, const Column<std::int64_t>& service_us,
             const Column<std::int32_t>& gpus, std::int64_t num_gpus, bool starts,
             std::optional<Column<std::int64_t>> finishes) {
  const bench_floor::Trace trace{view(submit_us), view(service_us), view(gpus)};
  if (trace.service_us.size() != trace.submit_us.size() ||
      trace.gpus.size() != trace.submit_us.size()) {
    throw std::invalid_argument("the columns of a trace have one length");
  }
  if (trace.submit_us.size() >= std::numeric_limits<std::uint32_t>::max()) {
    throw std::invalid_argument("the floor counts jobs in 32 bits");
  }
  if (finishes && finishes->size() != submit_us.size()) {
    throw std::invalid_argument("the column of finishes has the length of the trace");
  }
  Column<std::int64_t> finish_us = finishes ? *finishes : Column<std::int64_t>(submit_us.size());
  Column<std::int64_t> start_us(starts ? submit_us.size() : 0);
  const auto finish = mutable_view(finish_us);
  const auto start = mutable_view(start_us);
  bench_floor::Counts counts;
  std::chrono::duration<double> wall{};
  {
    const py::gil_scoped_release unlocked;  // no Python object is touched below
    const auto begin = std::chrono::steady_clock::now();
    counts = loop(trace, num_gpus, finish, start);
    wall = std::chrono::steady_clock::now() - begin;
  }
  py::dict result;
  result["finish_us"] = finish_us;
  result["start_us"] = start_us;
  result["wall_s"] = wall.count();
  result["max_waiting"] = counts.max_waiting;
  result["preemptions"] = counts.preemptions;
  return result;
}

template <Loop loop>
void define(py::module_& m, const char* name) {
  m.def(name, &run<loop>, py::arg("submit_us").noconvert(), py::arg("service_us").noconvert(),
        py::arg("gpus").noconvert(), py::arg("num_gpus"), py::arg("starts") = false,
        py::arg("finish_us").noconvert() = py::none());
}

}  // namespace

PYBIND11_MODULE(floor, m) {
  m.doc() = "Bare loops of three policies on one pool of GPUs: the practical limit.";
  define<bench_floor::fifo>(m, "fifo");
  define<bench_floor::sjf>(m, "sjf");
  define<bench_floor::srtf>(m, "srtf");
}
