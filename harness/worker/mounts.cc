#include "harness/worker/mounts.hpp"

#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>
#include <vector>

#include "harness/device/owned_fd.hpp"

namespace assay {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail(const std::string& what) { throw std::system_error(errno, std::generic_category(), what); }

// A copy of what lies at a path, to be put somewhere later; empty where there is nothing.
OwnedFd copy_of(const fs::path& path) {
  OwnedFd tree(open_tree(AT_FDCWD, path.c_str(), OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE));
  if (tree.get() < 0 && errno != ENOENT) fail("open_tree " + path.string());
  if (tree.get() < 0) return tree;
  mount_attr attributes{};
  attributes.attr_set = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID;
  if (mount_setattr(tree.get(), "", AT_EMPTY_PATH | AT_RECURSIVE, &attributes, sizeof attributes) != 0)
    fail("mount_setattr " + path.string());
  return tree;
}

// The point is made where it is missing: everything that gets one lies in a memory file system of ours.
void put(const OwnedFd& tree, const fs::path& path) {
  struct stat info = {};
  if (fstat(tree.get(), &info) != 0) fail("fstat " + path.string());
  fs::create_directories(S_ISDIR(info.st_mode) ? path : path.parent_path());
  if (!S_ISDIR(info.st_mode)) OwnedFd(open(path.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0644));
  if (move_mount(tree.get(), "", AT_FDCWD, path.c_str(), MOVE_MOUNT_F_EMPTY_PATH) != 0)
    fail("move_mount " + path.string());
}

void cover(const fs::path& path, const char* options, unsigned long flags = MS_NOSUID | MS_NODEV) {
  if (mount("tmpfs", path.c_str(), "tmpfs", flags, options) != 0) fail("mount tmpfs on " + path.string());
}

constexpr std::array<std::pair<const char*, const char*>, 3> kScratch{{
    {"/tmp", "mode=1777,size=256m,nr_inodes=65536"},
    {"/var/tmp", "mode=1777,size=64m,nr_inodes=16384"},
    {"/dev/shm", "mode=1777,size=512m,nr_inodes=16384"},
}};
constexpr const char* kFixture = "mode=755,size=1m,nr_inodes=4096";

struct Kept {
  OwnedFd tree;
  fs::path path;
};

std::vector<Kept> entries_that_start_with(const fs::path& folder, const std::vector<std::string>& names) {
  std::vector<Kept> kept;
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(folder, none))
    for (const std::string& name : names)
      if (entry.path().filename().string().rfind(name, 0) == 0 && !entry.is_symlink(none)) {
        kept.push_back({copy_of(entry.path()), entry.path()});
        break;
      }
  return kept;
}

// The part of a path to keep: of a folder that is covered, its entry on the way; else nothing.
std::optional<fs::path> under_covered(const fs::path& path) {
  for (const char* folder : {"/tmp", "/var/tmp", "/dev", "/run"}) {
    const fs::path inside = path.lexically_relative(folder);
    if (!inside.empty() && *inside.begin() != ".." && *inside.begin() != ".") return fs::path(folder) / *inside.begin();
  }
  return std::nullopt;
}

// The first folder on the way that others may not pass.
std::optional<fs::path> closed_on_the_way(const fs::path& path) {
  fs::path way;
  for (const fs::path& part : path.parent_path()) {
    way /= part;
    struct stat info = {};
    if (stat(way.c_str(), &info) != 0) fail("stat " + way.string());
    if (!(info.st_mode & S_IXOTH)) return way;
  }
  return std::nullopt;
}

bool is_open(const fs::path& folder) {
  struct stat info = {};
  return stat(folder.c_str(), &info) == 0 && (info.st_mode & S_IXOTH) && (info.st_mode & S_IROTH);
}

// A folder where a program's path can be made, without hiding anything.
fs::path place_for_a_program() {
  for (const char* folder : {"/srv", "/opt", "/mnt"}) {
    std::error_code none;
    if (fs::is_directory(folder, none) && fs::is_empty(folder, none) && !none) {
      cover(folder, kFixture);
      return folder;
    }
  }
  return "/tmp";
}

}  // namespace

std::string arrange_mounts(const Confinement& confinement, const std::string& name) {
  if (mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) fail("mount private /");
  const OwnedFd program = copy_of(confinement.program);
  std::vector<Kept> kept =
      entries_that_start_with("/dev", {"null", "zero", "full", "random", "urandom", "nvidia", "dxg"});
  for (Kept& run : entries_that_start_with("/run", {"nvidia", "opengl-driver", "current-system"}))
    kept.push_back(std::move(run));

  std::vector<fs::path> wanted(confinement.folders.begin(), confinement.folders.end());
  fs::path library = confinement.library;
  OwnedFd library_file, library_folder;
  if (!library.empty() && fs::exists(library)) {
    wanted.push_back(library);
    wanted.push_back(fs::canonical(library));
    library_file = copy_of(library);
    library_folder = copy_of(library.parent_path());
  }
  for (const fs::path& path : wanted)
    if (const auto part = under_covered(path); part && fs::exists(*part)) kept.push_back({copy_of(*part), *part});

  mount_attr attributes{};
  attributes.attr_set = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID;
  if (mount_setattr(AT_FDCWD, "/", AT_RECURSIVE, &attributes, sizeof attributes) != 0) fail("mount_setattr /");

  cover("/dev", kFixture, MS_NOSUID);
  fs::create_directory("/dev/shm");
  for (const auto& [link, to] : {std::pair("fd", "/proc/self/fd"),
                                 {"stdin", "/proc/self/fd/0"},
                                 {"stdout", "/proc/self/fd/1"},
                                 {"stderr", "/proc/self/fd/2"}})
    fs::create_symlink(to, fs::path("/dev") / link);
  if (fs::is_directory("/run")) cover("/run", kFixture);
  for (const auto& [folder, options] : kScratch)
    if (fs::is_directory(folder)) cover(folder, options);
  for (const Kept& k : kept)
    if (k.tree.get() >= 0) {
      struct stat there = {};
      if (stat(k.path.c_str(), &there) != 0) put(k.tree, k.path);  // two ways may share one part
    }

  // Under another uid only: in a user namespace a worker passes wherever its judge does.
  if (library_file.get() >= 0 && confinement.uid >= 0)
    if (const auto closed = closed_on_the_way(library)) {
      cover(*closed, kFixture);
      const bool whole = *closed != library.parent_path() && [&] {
        put(library_folder, library.parent_path());
        return is_open(library.parent_path());
      }();
      if (!whole) {
        if (*closed != library.parent_path()) cover(library.parent_path(), kFixture);
        put(library_file, library);
      }
    }

  const fs::path path = place_for_a_program() / "venv" / "bin" / name;
  put(program, path);
  if (mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, nullptr) != 0) fail("mount /proc");
  return path.string();
}

}  // namespace assay
