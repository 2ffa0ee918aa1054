#include "pipeline/sources/local_listing.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <utility>

#include "common/status.h"
#include "pipeline/sources/glob.h"

namespace headrace {
namespace {

constexpr size_t kMaxDepth = 256;

struct CloseDirectory {
  void operator()(DIR* directory) const { closedir(directory); }
};
using DirectoryHandle = std::unique_ptr<DIR, CloseDirectory>;

struct Entry {
  std::string name;
  bool directory = false;
  bool link = false;
  uint64_t size = 0;
  int64_t mtime_ns = 0;
};

std::string Join(const std::string& directory, const std::string& name) {
  return directory == "/" ? "/" + name : directory + "/" + name;
}

// One listing: a walk that collects files and stops at the first thing it cannot look into.
class Walk {
 public:
  explicit Walk(const LocalRoots& roots) : roots_(roots) {}

  absl::Status Match(const std::vector<std::string>& components) {
    components_ = &components;
    wild_ = false;
    return MatchFrom("/", 0);
  }
  // The literal path `path` names a file or a directory.
  absl::Status Literal(const std::string& path) {
    wild_ = false;
    return TakePath(path);
  }

  std::vector<FileInfo>& found() { return found_; }
  size_t ignored() const { return ignored_; }

 private:
  // While alive, a name that is not there is no match and no mistake of the caller.
  class BehindWildcard {
   public:
    explicit BehindWildcard(Walk& walk) : walk_(walk), before_(std::exchange(walk.wild_, true)) {}
    ~BehindWildcard() { walk_.wild_ = before_; }

   private:
    Walk& walk_;
    const bool before_;
  };

  absl::Status MatchFrom(const std::string& directory, size_t at) {
    if (at == components_->size()) return TakePath(directory);
    const std::string& component = (*components_)[at];
    if (component == "**") return MatchAnyDepth(directory, at);
    if (!HasWildcard(component)) return MatchFrom(Join(directory, Unescape(component)), at + 1);
    const bool last = at + 1 == components_->size();
    return ForEachEntry(
        directory, false,
        [&](const std::string& name) { return MatchesComponent(component, name); },
        [&](const Entry& entry) {
          const BehindWildcard mark(*this);
          if (last) return Take(directory, entry);
          if (!entry.directory) return absl::OkStatus();
          return MatchFrom(Join(directory, entry.name), at + 1);
        });
  }

  // `**`: no directory, or any number of them.
  absl::Status MatchAnyDepth(const std::string& directory, size_t at) {
    if (at + 1 == components_->size()) return TakePath(directory);
    HR_RETURN_IF_ERROR(ForEachEntry(
        directory, true, [](const std::string& name) { return !IsIgnoredName(name); },
        [&](const Entry& entry) {
          const BehindWildcard mark(*this);
          if (!entry.directory) return absl::OkStatus();
          return MatchAnyDepth(Join(directory, entry.name), at);
        }));
    const BehindWildcard mark(*this);
    return MatchFrom(directory, at + 1);
  }

  absl::Status TakePath(const std::string& path) {
    struct stat st;
    if (stat(path.c_str(), &st) != 0) {
      // Behind a wildcard a name that is not there is no match; spelled out it is the caller's
      // mistake.
      if (wild_ && (errno == ENOENT || errno == ENOTDIR)) return absl::OkStatus();
      if (errno == ENOENT || errno == ENOTDIR) return Missing(path);
      return LocalError(errno, path, "cannot look at it");
    }
    if (S_ISDIR(st.st_mode)) return Below(path);
    if (!S_ISREG(st.st_mode)) {
      return InvalidArgument("{}: is neither a file nor a directory", path);
    }
    HR_RETURN_IF_ERROR(roots_.Check(path));
    found_.push_back({path, static_cast<uint64_t>(st.st_size), MtimeNs(st)});
    return absl::OkStatus();
  }

  absl::Status Take(const std::string& directory, const Entry& entry) {
    std::string path = Join(directory, entry.name);
    if (entry.directory) return Below(path);
    if (entry.link) HR_RETURN_IF_ERROR(roots_.Check(path));
    found_.push_back({std::move(path), entry.size, entry.mtime_ns});
    return absl::OkStatus();
  }

  absl::Status Below(const std::string& directory) {
    return ForEachEntry(
        directory, true, [](const std::string& name) { return !IsIgnoredName(name); },
        [&](const Entry& entry) { return Take(directory, entry); });
  }

  // Reads all of `directory` and closes it before the first visit: depth must not cost file
  // descriptors. In a recursive walk a link back to a directory that is being walked shows nothing
  // new and is passed over.
  template <typename Wanted, typename Visit>
  absl::Status ForEachEntry(const std::string& directory, bool recursive, Wanted wanted,
                            Visit visit) {
    DirectoryHandle handle(opendir(directory.c_str()));
    if (handle == nullptr) {
      if (wild_ && (errno == ENOENT || errno == ENOTDIR)) return absl::OkStatus();
      if (errno == ENOENT || errno == ENOTDIR) return Missing(directory);
      return LocalError(errno, directory, "cannot list it");
    }
    HR_RETURN_IF_ERROR(roots_.Check(directory));
    struct stat self;
    if (fstat(dirfd(handle.get()), &self) != 0) {
      return LocalError(errno, directory, "cannot look at it");
    }
    const auto id = std::make_pair(self.st_dev, self.st_ino);
    if (recursive && std::find(ancestors_.begin(), ancestors_.end(), id) != ancestors_.end()) {
      return absl::OkStatus();
    }
    if (ancestors_.size() >= kMaxDepth) {
      return OutOfRange("{}: lies more than {} directories deep; is there a loop of mounts?",
                        directory, kMaxDepth);
    }
    std::vector<Entry> entries;
    HR_RETURN_IF_ERROR(ReadEntries(handle.get(), directory, wanted, entries));
    handle.reset();
    if (recursive) ancestors_.push_back(id);
    for (const Entry& entry : entries) HR_RETURN_IF_ERROR(visit(entry));
    if (recursive) ancestors_.pop_back();
    return absl::OkStatus();
  }

  template <typename Wanted>
  absl::Status ReadEntries(DIR* handle, const std::string& directory, Wanted wanted,
                           std::vector<Entry>& out) {
    while (true) {
      errno = 0;
      const dirent* read = readdir(handle);
      if (read == nullptr) {
        if (errno != 0) return LocalError(errno, directory, "cannot list it");
        return absl::OkStatus();
      }
      Entry entry;
      entry.name = read->d_name;
      if (entry.name == "." || entry.name == "..") continue;
      if (!wanted(entry.name)) {
        if (IsIgnoredName(entry.name)) ++ignored_;
        continue;
      }
      entry.directory = read->d_type == DT_DIR;
      entry.link = read->d_type == DT_LNK || read->d_type == DT_UNKNOWN;
      if (!entry.directory) {
        struct stat st;
        if (fstatat(dirfd(handle), entry.name.c_str(), &st, 0) != 0) {
          if (errno == ENOENT && entry.link) {
            return NotFound(
                "{}: is a link to a file that is not there; remove the link or restore the file",
                Join(directory, entry.name));
          }
          return LocalError(errno, Join(directory, entry.name), "cannot look at it");
        }
        entry.directory = S_ISDIR(st.st_mode);
        if (!entry.directory && !S_ISREG(st.st_mode)) continue;  // a socket, a pipe, a device
        entry.size = static_cast<uint64_t>(st.st_size);
        entry.mtime_ns = MtimeNs(st);
      }
      out.push_back(std::move(entry));
    }
  }

  // Names the first part of `path` that does not exist: usually the typing mistake.
  static absl::Status Missing(const std::string& path) {
    std::string there;
    for (const std::string& component : PathComponents(path)) {
      const std::string next = there + "/" + component;
      struct stat st;
      if (stat(next.c_str(), &st) != 0) {
        return NotFound(
            "{}: no such file or directory ('{}' exists, '{}' in it does not); check the path",
            path, there.empty() ? "/" : there, component);
      }
      there = next;
    }
    return NotFound("{}: no such file or directory; check the path", path);
  }

  const LocalRoots& roots_;
  const std::vector<std::string>* components_ = nullptr;
  bool wild_ = false;
  std::vector<std::pair<dev_t, ino_t>> ancestors_;
  std::vector<FileInfo> found_;
  size_t ignored_ = 0;
};

std::string RealPath(const std::string& path) {
  char real[PATH_MAX];
  return realpath(path.c_str(), real) == nullptr ? "" : real;
}

std::vector<std::string> PatternComponents(const std::string& pattern) {
  std::vector<std::string> out;
  for (std::string& component : PathComponents(pattern)) {
    if (component == "**" && !out.empty() && out.back() == "**") continue;
    out.push_back(std::move(component));
  }
  return out;
}

}  // namespace

LocalRoots::LocalRoots(std::vector<std::string> roots) {
  for (std::string& root : roots) {
    std::string real = RealPath(root);
    roots_.push_back(real.empty() ? std::move(root) : std::move(real));
  }
}

absl::Status LocalRoots::CheckReal(std::string_view path, std::string_view real) const {
  if (roots_.empty()) return absl::OkStatus();
  std::string list;
  for (const std::string& root : roots_) {
    if (root == "/" || real == root ||
        (real.size() > root.size() && real.starts_with(root) && real[root.size()] == '/')) {
      return absl::OkStatus();
    }
    list += (list.empty() ? "" : ", ") + root;
  }
  return PermissionDenied(
      "{}: lies outside the directories that may be read ({}); move the data there, or add its "
      "directory to the configured file roots",
      path, list);
}

absl::Status LocalRoots::Check(const std::string& path) const {
  if (roots_.empty()) return absl::OkStatus();
  char real[PATH_MAX];
  if (realpath(path.c_str(), real) == nullptr) {
    return LocalError(errno, path, "cannot resolve its links");
  }
  return CheckReal(path, real);
}

absl::StatusOr<std::string> AbsoluteLocalPath(std::string_view path) {
  if (path.starts_with("file://")) {
    path.remove_prefix(7);
    if (path.starts_with("localhost/")) path.remove_prefix(9);
    if (!path.starts_with("/")) {
      return InvalidArgument("file://{}: a file:// path must be absolute (file:///data/...)", path);
    }
  } else if (const size_t scheme = path.find("://");
             scheme != std::string_view::npos && path.find('/') > scheme) {
    return InvalidArgument(
        "{}: no support for '{}://' here; give a local path, or mount the store as a directory",
        path, path.substr(0, scheme));
  }
  if (path.empty()) return InvalidArgument("an empty file path");
  std::string out;
  if (path[0] != '/') {
    char directory[PATH_MAX];
    if (getcwd(directory, sizeof(directory)) == nullptr) {
      return ErrnoStatus(errno, "find the working directory for a relative path");
    }
    out = directory;
  }
  for (const std::string& component : PathComponents(path)) {
    if (out.empty() || out.back() != '/') out += '/';
    out += component;
  }
  return out.empty() ? "/" : out;
}

absl::StatusOr<std::vector<FileInfo>> ListLocal(const LocalRoots& roots,
                                                const std::string& pattern) {
  HR_ASSIGN_OR_RETURN(const std::string absolute, AbsoluteLocalPath(pattern));
  Walk walk(roots);
  struct stat st;
  if (stat(absolute.c_str(), &st) == 0) {
    // A name that has pattern letters in it and exists means itself.
    HR_RETURN_IF_ERROR(walk.Literal(absolute));
  } else {
    HR_ASSIGN_OR_RETURN(const std::vector<std::string> patterns, ExpandBraces(absolute));
    for (const std::string& one : patterns) {
      HR_RETURN_IF_ERROR(walk.Match(PatternComponents(one)));
    }
  }
  std::vector<FileInfo>& found = walk.found();
  if (found.empty()) {
    return NotFound(
        "{}: no file matches{}; check the path", absolute,
        walk.ignored() == 0
            ? std::string()
            : fmt::format(" ({} names that start with '_' or '.' were ignored)", walk.ignored()));
  }
  std::sort(found.begin(), found.end(),
            [](const FileInfo& a, const FileInfo& b) { return a.path < b.path; });
  found.erase(std::unique(found.begin(), found.end(),
                          [](const FileInfo& a, const FileInfo& b) { return a.path == b.path; }),
              found.end());
  return std::move(found);
}

absl::Status LocalError(int error_number, std::string_view path, std::string_view action) {
  const std::string reason = std::strerror(error_number);
  switch (error_number) {
    case ENOENT:
    case ENOTDIR:
      return NotFound("{}: {}: {}; it was moved or deleted, or the path is wrong", path, action,
                      reason);
    case EACCES:
    case EPERM:
      return PermissionDenied(
          "{}: {}: {}; give user {} of this process read permission (and x on the directories "
          "above)",
          path, action, reason, geteuid());
    case EMFILE:
    case ENFILE:
      return ResourceExhausted("{}: {}: {}; raise the limit of open files (ulimit -n)", path,
                               action, reason);
    case ELOOP:
      return InvalidArgument("{}: {}: {}; its links lead in a circle", path, action, reason);
    default:
      return Unavailable("{}: {}: {} (errno {}); look at the disk or mount", path, action, reason,
                         error_number);
  }
}

}  // namespace headrace
