#include <pybind11/stl.h>

#include "bindings.hpp"
#include "copying.hpp"
#include "scheduler_trampoline.hpp"

namespace gpusched::bindings {
namespace {

/// Cost of reading one target, in steps of a simple loop.
constexpr std::size_t kStepsOfTarget = 200;

}  // namespace

std::vector<JobId> ActionsView::reallocate(const py::typing::Iterable<Target>& targets,
                                           Reallocation::Others others) {
  Actions& open = actions();
  is_reallocating_ = true;
  const struct Clear {
    ActionsView& view;
    ~Clear() {
      view.reallocation_.clear();
      view.is_reallocating_ = false;
    }
  } clear{*this};
  for (const py::handle target : targets) add(target);
  reallocation_.apply(state_, open, others);
  return reallocation_.refused();
}

void ActionsView::add(py::handle target) {
  stop_.count(kStepsOfTarget);
  py::detail::make_caster<Target> caster;
  if (!caster.load(target, true)) {
    throw py::type_error("targets: expected (job, parts), not " +
                         py::repr(target).cast<std::string>());
  }
  const auto& [job, parts] = py::detail::cast_op<Target>(caster);
  if (job >= state_.num_arrived()) {
    throw py::index_error("job " + std::to_string(job) + " has not arrived");
  }
  const int num_types = state_.cluster().num_types();
  for (const Part& part : parts) {
    if (part.type >= 0 && part.type < num_types) continue;
    throw py::value_error("job " + std::to_string(job) + ": GPU type " + std::to_string(part.type) +
                          " does not exist; the cluster has " + std::to_string(num_types));
  }
  reallocation_.add(job, parts);
}

void bind_scheduler(py::module_& m) {
  py::class_<ActionsView, std::shared_ptr<ActionsView>>(
      m, "Actions", "The actions of a scheduler; every call is checked.")
      .def(
          "start",
          [](ActionsView& v, JobId job, const Allocation& allocation) {
            v.actions().start(job, allocation);
          },
          py::arg("job"), py::arg("allocation"), "A waiting job starts or resumes.")
      .def(
          "preempt", [](ActionsView& v, JobId job) { v.actions().preempt(job); }, py::arg("job"),
          "Preempt a running job: it releases its GPUs and waits.")
      .def(
          "suspend", [](ActionsView& v, JobId job) { v.actions().suspend(job); }, py::arg("job"),
          "Like preempt, but restore can undo it within this decision.")
      .def(
          "restore", [](ActionsView& v, JobId job) { return v.actions().restore(job); },
          py::arg("job"), "Undo suspend if the job's GPUs are still free.")
      .def(
          "resize",
          [](ActionsView& v, JobId job, const Allocation& allocation) {
            v.actions().resize(job, allocation);
          },
          py::arg("job"), py::arg("allocation"),
          "Continue a running job on other GPUs; a width other than its own needs an elastic\n"
          "speed.")
      .def(
          "reallocate",
          [](ActionsView& v, const py::typing::Iterable<ActionsView::Target>& targets,
             bool keep_others) {
            using enum Reallocation::Others;
            return v.reallocate(targets, keep_others ? stay : stop);
          },
          py::arg("targets"), py::kw_only(), py::arg("keep_others") = false,
          "Set targets: (job, parts), each part GPUs of one type, by type. Running jobs without a\n"
          "target are preempted, or keep their GPUs with `keep_others`; changed ones get new GPUs\n"
          "from the run's placement; others may move to make room. Returns the jobs that did not\n"
          "fit.")
      .def(
          "wake", [](ActionsView& v, std::int64_t at_us) { v.actions().wake(Time{at_us}); },
          py::arg("at_us"), "Request a decision at this instant.");

  py::class_<Scheduler, PyScheduler, py::smart_holder> scheduler(
      m, "Scheduler",
      "A policy that starts, preempts and resizes jobs. Subclass it and write `decide(state,\n"
      "finished, arrived, actions)`; `begin(state)` is called before a run, `withdraw(job)` when\n"
      "a waiting job is cancelled, and `warnings()`, a list of str for the result, after the run.");
  scheduler.def(py::init<>());
  copy_by_state<Scheduler, PyScheduler>(scheduler);
  tell_signature<Scheduler>(scheduler);
}

}  // namespace gpusched::bindings
