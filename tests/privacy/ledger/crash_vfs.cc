#include "tests/privacy/ledger/crash_vfs.h"

#include <sqlite3.h>

#include <algorithm>
#include <cstring>

namespace partita::privacy::ledger {
namespace {

constexpr size_t kSector = 512, kPage = 4096;

using File = CrashDisk::File;

struct OpenFile {
  sqlite3_file base;
  CrashDisk* disk;
  std::shared_ptr<File>* file;
};

OpenFile& Of(sqlite3_file* file) { return *reinterpret_cast<OpenFile*>(file); }

// After an operation that was carried out.
int Done(CrashDisk& disk) {
  if (!disk.report_failure_after()) return SQLITE_OK;
  disk.clear_report();
  return SQLITE_IOERR_FSYNC;
}

int Close(sqlite3_file* file) {
  delete Of(file).file;
  Of(file).file = nullptr;
  return SQLITE_OK;
}

int Read(sqlite3_file* file, void* out, int size, sqlite3_int64 offset) {
  if (Of(file).disk->dead()) return SQLITE_IOERR_READ;
  const std::vector<uint8_t>& bytes = (*Of(file).file)->now;
  const size_t from = std::min(static_cast<size_t>(offset), bytes.size());
  const size_t length = std::min(static_cast<size_t>(size), bytes.size() - from);
  std::memset(out, 0, static_cast<size_t>(size));
  if (length > 0) std::memcpy(out, bytes.data() + from, length);
  return length == static_cast<size_t>(size) ? SQLITE_OK : SQLITE_IOERR_SHORT_READ;
}

void WriteTo(std::vector<uint8_t>& bytes, size_t offset, const uint8_t* in, size_t size) {
  if (bytes.size() < offset + size) bytes.resize(offset + size);
  std::copy(in, in + size, bytes.begin() + static_cast<std::ptrdiff_t>(offset));
}

int Write(sqlite3_file* file, const void* in, int size, sqlite3_int64 offset) {
  CrashDisk& disk = *Of(file).disk;
  File& target = **Of(file).file;
  const auto* bytes = static_cast<const uint8_t*>(in);
  const int result = disk.Operation();
  // A power failure may come in the middle of a write.
  if (result == SQLITE_OK || disk.dead()) {
    target.pending.push_back({false, static_cast<uint64_t>(offset), {bytes, bytes + size}});
  }
  if (result != SQLITE_OK) return result;
  WriteTo(target.now, static_cast<size_t>(offset), bytes, static_cast<size_t>(size));
  return Done(disk);
}

int Truncate(sqlite3_file* file, sqlite3_int64 size) {
  CrashDisk& disk = *Of(file).disk;
  File& target = **Of(file).file;
  if (const int result = disk.Operation(); result != SQLITE_OK) return result;
  target.now.resize(static_cast<size_t>(size));
  target.pending.push_back({true, static_cast<uint64_t>(size), {}});
  return Done(disk);
}

int Sync(sqlite3_file* file, int) {
  CrashDisk& disk = *Of(file).disk;
  File& target = **Of(file).file;
  if (const int result = disk.Operation(); result != SQLITE_OK) return result;
  target.durable = target.now;
  target.pending.clear();
  target.name_durable = true;
  return Done(disk);
}

int FileSize(sqlite3_file* file, sqlite3_int64* size) {
  if (Of(file).disk->dead()) return SQLITE_IOERR_FSTAT;
  *size = static_cast<sqlite3_int64>((*Of(file).file)->now.size());
  return SQLITE_OK;
}

int Lock(sqlite3_file* file, int level) {
  return level != SQLITE_LOCK_RESERVED || Of(file).disk->LockIsFree() ? SQLITE_OK : SQLITE_BUSY;
}
int Unlock(sqlite3_file*, int) { return SQLITE_OK; }
int CheckReservedLock(sqlite3_file*, int* locked) {
  *locked = 0;
  return SQLITE_OK;
}
int FileControl(sqlite3_file*, int, void*) { return SQLITE_NOTFOUND; }
int SectorSize(sqlite3_file*) { return kSector; }
int DeviceCharacteristics(sqlite3_file*) { return 0; }

constexpr sqlite3_io_methods kMethods = {1,
                                         Close,
                                         Read,
                                         Write,
                                         Truncate,
                                         Sync,
                                         FileSize,
                                         Lock,
                                         Unlock,
                                         CheckReservedLock,
                                         FileControl,
                                         SectorSize,
                                         DeviceCharacteristics,
                                         nullptr,
                                         nullptr,
                                         nullptr,
                                         nullptr,
                                         nullptr,
                                         nullptr};

CrashDisk& DiskOf(sqlite3_vfs* vfs) { return *static_cast<CrashDisk*>(vfs->pAppData); }

int Open(sqlite3_vfs* vfs, const char* name, sqlite3_file* file, int flags, int* out_flags) {
  CrashDisk& disk = DiskOf(vfs);
  OpenFile& open = Of(file);
  open.base.pMethods = nullptr;
  std::shared_ptr<File> target;
  if (name == nullptr) {
    target = std::make_shared<File>();
  } else if (const auto found = disk.files().find(name); found != disk.files().end()) {
    target = found->second;
  } else if ((flags & SQLITE_OPEN_CREATE) != 0) {
    if (const int result = disk.Operation(); result != SQLITE_OK) return result;
    target = std::make_shared<File>();
    disk.files()[name] = target;
  } else {
    return SQLITE_CANTOPEN;
  }
  if (disk.dead()) return SQLITE_IOERR;
  open.disk = &disk;
  open.file = new std::shared_ptr<File>(std::move(target));
  open.base.pMethods = &kMethods;
  if (out_flags != nullptr) *out_flags = flags;
  return SQLITE_OK;
}

int Delete(sqlite3_vfs* vfs, const char* name, int sync_directory) {
  CrashDisk& disk = DiskOf(vfs);
  const auto found = disk.files().find(name);
  if (found == disk.files().end()) return SQLITE_IOERR_DELETE_NOENT;
  if (const int result = disk.Operation(); result != SQLITE_OK) return result;
  disk.removed()[name] = found->second;
  disk.files().erase(found);
  if (sync_directory != 0) {
    // Between the deletion and the sync of the folder the power may fail as well.
    if (const int result = disk.Operation(); result != SQLITE_OK) return SQLITE_IOERR_DIR_FSYNC;
    if (!disk.ignore_directory_syncs()) disk.removed().erase(name);
  }
  return Done(disk);
}

int Access(sqlite3_vfs* vfs, const char* name, int, int* found) {
  CrashDisk& disk = DiskOf(vfs);
  if (disk.dead()) return SQLITE_IOERR_ACCESS;
  const auto file = disk.files().find(name);
  *found = file != disk.files().end() && !file->second->now.empty();
  return SQLITE_OK;
}

int FullPathname(sqlite3_vfs*, const char* name, int size, char* out) {
  sqlite3_snprintf(size, out, "%s", name);
  return SQLITE_OK;
}

// SQLite adds up how long it slept, so its patience ends as fast as it can ask.
int Sleep(sqlite3_vfs*, int microseconds) { return microseconds; }

// The content after a crash.
std::vector<uint8_t> Survive(const File& file, CrashDisk::Survivors survivors,
                             std::mt19937_64& random) {
  if (survivors == CrashDisk::Survivors::kNothing) return file.durable;
  std::vector<uint8_t> bytes = file.durable;
  const auto flip = [&] { return random() % 2 == 0; };
  for (const CrashDisk::Change& change : file.pending) {
    const bool all = survivors == CrashDisk::Survivors::kEverything;
    const uint64_t fate = all ? 0 : random() % 4;  // whole, sectors, pages, nothing
    if (fate == 3) continue;
    if (change.truncation) {
      bytes.resize(change.offset);
      continue;
    }
    const size_t unit = fate == 1 ? kSector : fate == 2 ? kPage : change.bytes.size() + 1;
    // The file has grown, whether or not what was written there arrived.
    const size_t before = bytes.size(), end = change.offset + change.bytes.size();
    if (end > before) {
      bytes.resize(end);
      for (size_t i = before; i < end; ++i) bytes[i] = static_cast<uint8_t>(random());
    }
    for (size_t at = 0; at < change.bytes.size(); at += unit) {
      if (fate != 0 && flip()) continue;
      const size_t length = std::min(unit, change.bytes.size() - at);
      WriteTo(bytes, change.offset + at, change.bytes.data() + at, length);
    }
  }
  return bytes;
}

}  // namespace

struct CrashDisk::Registration {
  std::string name;
  sqlite3_vfs vfs{};
};

CrashDisk::CrashDisk(std::string name) : registration_(std::make_unique<Registration>()) {
  sqlite3_vfs* standard = sqlite3_vfs_find(nullptr);
  registration_->name = std::move(name);
  sqlite3_vfs& vfs = registration_->vfs;
  // Randomness and time of the standard one; its own data are not used by those.
  vfs = *standard;
  vfs.iVersion = 1;
  vfs.pNext = nullptr;
  vfs.szOsFile = sizeof(OpenFile);
  vfs.zName = registration_->name.c_str();
  vfs.pAppData = this;
  vfs.xOpen = Open;
  vfs.xDelete = Delete;
  vfs.xAccess = Access;
  vfs.xFullPathname = FullPathname;
  vfs.xSleep = Sleep;
  sqlite3_vfs_register(&vfs, 0);
}

CrashDisk::~CrashDisk() { sqlite3_vfs_unregister(&registration_->vfs); }

void CrashDisk::FailAt(uint64_t operation, Failure failure) {
  operations_ = 0;
  fail_at_ = operation;
  failure_ = failure;
  fired_ = false;
}

void CrashDisk::HoldAt(uint64_t request) {
  lock_requests_ = 0;
  hold_at_ = request;
}

bool CrashDisk::LockIsFree() {
  ++lock_requests_;
  return hold_at_ == 0 || lock_requests_ < hold_at_;
}

int CrashDisk::Operation() {
  if (dead_) return SQLITE_IOERR;
  ++operations_;
  if (failure_ == Failure::kNone || operations_ != fail_at_) return SQLITE_OK;
  fired_ = true;
  switch (failure_) {
    case Failure::kNone:
      return SQLITE_OK;
    case Failure::kPower:
      dead_ = true;
      return SQLITE_IOERR;
    case Failure::kIo:
      return SQLITE_IOERR_WRITE;
    case Failure::kNoSpace:
      return SQLITE_FULL;
    case Failure::kIoDone:
      report_failure_after_ = true;
      return SQLITE_OK;
  }
  return SQLITE_OK;
}

void CrashDisk::Crash(Survivors survivors, uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto chance = [&] {
    return survivors == Survivors::kEverything ||
           (survivors == Survivors::kPart && random() % 2 == 0);
  };
  Image image;
  // A deletion that is not durable may not have happened; a new file with the same name wins.
  for (const auto& [name, file] : removed_)
    if (file->name_durable && !chance()) image[name] = Survive(*file, survivors, random);
  for (const auto& [name, file] : files_)
    if (file->name_durable || chance()) image[name] = Survive(*file, survivors, random);
  Load(image);
}

CrashDisk::Image CrashDisk::Save() const {
  Image image;
  for (const auto& [name, file] : files_) image[name] = file->now;
  return image;
}

void CrashDisk::Load(const Image& image) {
  files_.clear();
  removed_.clear();
  dead_ = report_failure_after_ = false;
  failure_ = Failure::kNone;
  hold_at_ = 0;
  for (const auto& [name, bytes] : image) {
    auto file = std::make_shared<File>();
    file->now = file->durable = bytes;
    file->name_durable = true;
    files_[name] = std::move(file);
  }
}

}  // namespace partita::privacy::ledger
