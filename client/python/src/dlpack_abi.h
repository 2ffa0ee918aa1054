// The part of DLPack's ABI that is used (https://dmlc.github.io/dlpack/latest/c_api.html, version
// 1.0; Debian's header is 0.6, before the read-only flag). Only layouts; names are the standard's.
#pragma once

#include <cstdint>

namespace headrace::python::dlpack {

inline constexpr int32_t kCpu = 1;

enum Code : uint8_t { kInt = 0, kUInt = 1, kFloat = 2, kBfloat = 4, kBool = 6 };

struct DLDevice {
  int32_t device_type;
  int32_t device_id;
};
struct DLDataType {
  uint8_t code;
  uint8_t bits;
  uint16_t lanes;
};
struct DLTensor {
  void* data;
  DLDevice device;
  int32_t ndim;
  DLDataType dtype;
  int64_t* shape;
  int64_t* strides;  // in items
  uint64_t byte_offset;
};
// In a capsule "dltensor"; the consumer renames it and calls the deleter.
struct DLManagedTensor {
  DLTensor dl_tensor;
  void* manager_ctx;
  void (*deleter)(DLManagedTensor*);
};
struct DLPackVersion {
  uint32_t major;
  uint32_t minor;
};
inline constexpr uint64_t kReadOnly = 1;
// In a capsule "dltensor_versioned".
struct DLManagedTensorVersioned {
  DLPackVersion version;
  void* manager_ctx;
  void (*deleter)(DLManagedTensorVersioned*);
  uint64_t flags;
  DLTensor dl_tensor;
};

}  // namespace headrace::python::dlpack
