#include "cli/address_file.h"

#include <cerrno>
#include <cstdio>

#include "common/status.h"

namespace headrace {

absl::Status WriteAddressFile(const std::string& path, const std::string& address) {
  if (path.empty()) return absl::OkStatus();
  const std::string temporary = path + ".new";
  std::FILE* file = std::fopen(temporary.c_str(), "we");
  if (file == nullptr) return ErrnoStatus(errno, "write --address-file " + path);
  const bool written = std::fprintf(file, "%s\n", address.c_str()) > 0;
  if (std::fclose(file) != 0 || !written) return ErrnoStatus(errno, "write --address-file " + path);
  if (std::rename(temporary.c_str(), path.c_str()) != 0)
    return ErrnoStatus(errno, "write --address-file " + path);
  return absl::OkStatus();
}

}  // namespace headrace
