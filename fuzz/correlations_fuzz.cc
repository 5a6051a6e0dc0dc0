// What is read of stored correlations: packages, the file of a store, and what a store does in any
// order of calls and cuts. The first byte says which.
#include <algorithm>
#include <cstdlib>
#include <memory>
#include <set>

#include "base/error.h"
#include "mpc/ahead.h"
#include "mpc/correlation_store.h"

namespace {

using partita::Bytes;
using partita::ByteView;
using partita::Error;
using partita::ErrorCode;
namespace mpc = partita::mpc;

void Require(bool promise) {
  if (!promise) std::abort();
}

// A file that outlives the store on it.
class Image : public mpc::StoreStorage {
 public:
  explicit Image(Bytes& bytes) : bytes_(bytes) {}
  uint64_t Size() override { return bytes_.size(); }
  void Read(uint64_t offset, std::span<uint8_t> out) override {
    if (offset > bytes_.size() || out.size() > bytes_.size() - offset)
      throw Error(ErrorCode::kInternal, "read beyond the end");
    std::copy_n(bytes_.begin() + static_cast<ptrdiff_t>(offset), out.size(), out.begin());
  }
  void Write(uint64_t offset, ByteView bytes) override {
    if (bytes_.size() < offset + bytes.size()) bytes_.resize(offset + bytes.size());
    std::copy(bytes.begin(), bytes.end(), bytes_.begin() + static_cast<ptrdiff_t>(offset));
  }
  void Sync() override {}

 private:
  Bytes& bytes_;
};

void ReadPackage(ByteView bytes) {
  const Bytes again = mpc::EncodePackage(mpc::DecodePackage(bytes));
  Require(std::equal(again.begin(), again.end(), bytes.begin(), bytes.end()));
}

// Whatever is there is handed out at most once.
void ReadStore(ByteView bytes) {
  Bytes image(bytes.begin(), bytes.end());
  mpc::CorrelationStore store = mpc::CorrelationStore::Open(std::make_unique<Image>(image));
  for (const mpc::PackageFacts& package : store.Packages()) {
    Require(package.size <= image.size());
    const uint64_t mark = store.mark();
    Require(package.number >= mark);
    try {
      Require(store.Take(package.number, package.label).size() == package.size);
    } catch (const Error& error) {
      Require(error.code() == ErrorCode::kUsage);  // its checksum
    }
    Require(store.mark() == package.number + 1);
    try {
      store.Take(package.number, package.label);
      std::abort();
    } catch (const Error& error) {
      Require(error.code() == ErrorCode::kRefused);
    }
  }
}

// Two bytes a call. After a cut of the file packages may be missing, or the file no store any more.
void UseStore(ByteView calls) {
  Bytes image;
  std::set<uint64_t> used;
  mpc::StoreIdentity identity;
  identity.study = "fuzz";
  auto store = std::make_unique<mpc::CorrelationStore>(
      mpc::CorrelationStore::Create(std::make_unique<Image>(image), identity));
  uint64_t next = 0;
  for (size_t i = 0; i + 1 < calls.size() && i < 200; i += 2) {
    const uint8_t argument = calls[i + 1];
    switch (calls[i] % 5) {
      case 0:
        next = std::max(next, store->NextNumber()) + argument % 3;
        store->Append(next++, {}, Bytes(argument, argument));
        break;
      case 1:
        for (const uint64_t number : store->Numbers()) {
          if (number % 4 != argument % 4) continue;
          store->Take(number, {});
          Require(used.insert(number).second);
          break;
        }
        break;
      case 2:
        store->Spend(store->mark() + argument % 3);
        break;
      case 3:
        store.reset();
        store = std::make_unique<mpc::CorrelationStore>(
            mpc::CorrelationStore::Open(std::make_unique<Image>(image), identity));
        break;
      default:
        store.reset();
        image.resize(image.size() - std::min<size_t>(image.size(), argument));
        store = std::make_unique<mpc::CorrelationStore>(
            mpc::CorrelationStore::Open(std::make_unique<Image>(image), identity));
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const ByteView bytes(data + 1, size - 1);
  try {
    if (data[0] % 3 == 0) ReadPackage(bytes);
    if (data[0] % 3 == 1) ReadStore(bytes);
    if (data[0] % 3 == 2) UseStore(bytes);
  } catch (const Error& error) {
    Require(error.code() == ErrorCode::kBadInput || error.code() == ErrorCode::kUsage);
  }
  return 0;
}
