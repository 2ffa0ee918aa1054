#include "transport/shm/host_tag.h"

#include <sys/stat.h>

#include <cstdint>
#include <fstream>

#include "fmt/format.h"

namespace headrace {

std::string HostTag(std::string_view socket_name) {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string boot;
  if (!std::getline(file, boot) || boot.empty()) return "";
  if (socket_name.starts_with("@")) {
    struct stat space = {};
    if (::stat("/proc/self/ns/net", &space) != 0) return "";
    boot += fmt::format("/{}", static_cast<uint64_t>(space.st_ino));
  }
  uint64_t hash = 0xcbf29ce484222325;  // FNV-1a
  for (char c : boot) hash = (hash ^ static_cast<uint8_t>(c)) * 0x100000001b3;
  return fmt::format("{:016x}", hash);
}

}  // namespace headrace
