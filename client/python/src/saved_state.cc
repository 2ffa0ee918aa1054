#include "client/python/src/saved_state.h"

#include <string>

#include "client/python/src/status.h"
#include "common/status.h"

namespace py = pybind11;

namespace headrace::python {
namespace {

constexpr char kFormat[] = "headrace.loader";

template <typename T>
T Get(const py::dict& dict, const char* key) {
  if (!dict.contains(key)) Raise(InvalidArgument("a saved state without '{}'", key));
  try {
    return dict[key].cast<T>();
  } catch (const py::cast_error&) {
    Raise(InvalidArgument("a saved state whose '{}' is {}", key,
                          py::repr(py::type::of(dict[key])).cast<std::string>()));
  }
}

template <typename Message>
void Parse(const py::dict& dict, const char* key, Message* out) {
  // Text is no bytes: a state that went through JSON must have been encoded, and decoded again.
  if (!dict.contains(key) || !py::isinstance<py::bytes>(dict[key]) ||
      !out->ParseFromString(dict[key].cast<std::string>())) {
    Raise(InvalidArgument("a saved state whose '{}' is damaged", key));
  }
}

}  // namespace

py::dict StateToDict(const v1::LoaderState& state) {
  py::dict out;
  out["format"] = kFormat;
  out["version"] = state.version();
  out["epoch"] = state.epoch();
  out["reader"] = state.reader();
  out["readers"] = state.readers();
  out["elements"] = state.elements();
  out["seed"] = state.pipeline().seed();
  out["fingerprint"] = py::str(state.fingerprint());
  out["dataset_version"] = py::str(state.dataset_version());
  out["pipeline"] = py::bytes(state.pipeline().SerializeAsString());
  out["delivered"] = py::bytes(state.delivered().SerializeAsString());
  out["ordered"] =
      py::bytes(state.has_ordered() ? state.ordered().SerializeAsString() : std::string());
  return out;
}

v1::LoaderState StateFromDict(const py::handle& object) {
  if (!py::isinstance<py::dict>(object)) {
    Raise(InvalidArgument("a saved state is the dict that state_dict() gave, not {}",
                          py::repr(py::type::of(object)).cast<std::string>()));
  }
  const auto dict = py::reinterpret_borrow<py::dict>(object);
  if (Get<std::string>(dict, "format") != kFormat) {
    Raise(InvalidArgument("a saved state of format '{}'", Get<std::string>(dict, "format")));
  }
  v1::LoaderState state;
  state.set_version(Get<uint32_t>(dict, "version"));
  state.set_epoch(Get<uint64_t>(dict, "epoch"));
  state.set_reader(Get<uint32_t>(dict, "reader"));
  state.set_readers(Get<uint32_t>(dict, "readers"));
  state.set_elements(Get<uint64_t>(dict, "elements"));
  state.set_fingerprint(Get<std::string>(dict, "fingerprint"));
  state.set_dataset_version(Get<std::string>(dict, "dataset_version"));
  Parse(dict, "pipeline", state.mutable_pipeline());
  if (state.pipeline().seed() != Get<uint64_t>(dict, "seed")) {
    Raise(InvalidArgument("a saved state whose 'seed' was changed"));
  }
  Parse(dict, "delivered", state.mutable_delivered());
  if (!Get<std::string>(dict, "ordered").empty()) Parse(dict, "ordered", state.mutable_ordered());
  return state;
}

}  // namespace headrace::python
