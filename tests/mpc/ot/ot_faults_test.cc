// Faults between two parties that make their correlations in the run, or use stored ones: at every
// message a shortened one, a repeated one, an older one instead, a connection that is cut, a peer
// that says nothing more. Always a typed error, a channel that is given up, and correlations that
// are spent.
#include <gtest/gtest.h>

#include <atomic>

#include "base/error.h"
#include "mpc/ahead.h"
#include "mpc/correlation_store.h"
#include "mpc/dealer_engine.h"
#include "mpc/ot/ot_engine.h"
#include "tests/mpc/crash_storage.h"
#include "tests/mpc/harness.h"
#include "tests/net/fault_transport.h"

namespace partita::mpc::testing::ot_faults_test {
namespace {

using Kind = Product::Kind;

ErrorCode CodeOf(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const Error& e) {
    return e.code();
  } catch (...) {
    return ErrorCode::kInternal;
  }
}

// Products, a rescale and bits: every kind of transfer.
const IntMatrix kX{{3, 1}, {5, -7, 11}}, kY{{3, 1}, {2, 3, -4}};

void RunProgram(Engine& engine) {
  const PrivateMatrix inputs[] = {Private(engine, 0, kX, 16), Private(engine, 1, kY, 16)};
  const std::vector<Shared> in = engine.Input(inputs);
  const Product product{Kind::kElementwise, in[0], in[1]};
  const std::vector<Shared> products = engine.Multiply({&product, 1});
  const std::vector<Shared> fine = engine.Rescale(engine.Rescale(products, 4), 0);
  const auto opened = engine.Reveal("out", fine, kEverybody);
  if (engine.self()) {
    EXPECT_TRUE(opened[0] == PlainProduct(Kind::kElementwise, kX, kY));
  }
}

// What becomes of frame number `at` from party 1 to party 0.
enum class What { kShortened, kRepeated, kOlder, kSilence };

Bytes Shortened(const Bytes& frame) {
  Bytes shorter(frame.begin(), frame.end() - 1);
  const uint64_t length = shorter.size() - net::kFrameHeaderBytes;
  for (size_t i = 0; i < 8; ++i) shorter[48 + i] = static_cast<uint8_t>(length >> (8 * i));
  return shorter;
}

struct Faults {
  What what = What::kShortened;
  size_t at = SIZE_MAX;
  std::atomic<size_t> seen = 0;
  Bytes last;

  std::unique_ptr<net::Transport> Wrap(std::unique_ptr<net::Transport> inner) {
    if (inner->self() != 1) return inner;
    return std::make_unique<net::FaultTransport>(
        std::move(inner), [this](net::PartyIndex, size_t number, const Bytes& frame) {
          seen = number + 1;
          return Sent(number, frame);
        });
  }

  std::vector<Bytes> Sent(size_t number, const Bytes& frame) {
    const Bytes older = std::exchange(last, frame);
    if (what == What::kSilence && number >= at) return {};
    if (number != at) return {frame};
    if (what == What::kRepeated) return {frame, frame};
    if (what == What::kOlder) return {older};
    return {Shortened(frame)};
  }
};

// Runs the program with a fault; party 0 must notice, unless nothing more is read.
class Setting {
 public:
  virtual ~Setting() = default;
  virtual std::string kind() const = 0;
  virtual std::unique_ptr<Engine> Make(net::Channel& channel, ReleaseGate& gate) = 0;
  virtual void Begin() {}
  virtual void CheckAfter() {}

  RunResult Run(Faults& faults) {
    Begin();
    RunOptions options;
    options.kind = kind();
    options.wrap = [&](std::unique_ptr<net::Transport> inner) {
      return faults.Wrap(std::move(inner));
    };
    net::Channel* channels[2] = {};
    options.prepare = [&](net::Channel& channel) {
      channels[channel.self()] = &channel;
      if (faults.what == What::kSilence) channel.SetTimeout(std::chrono::milliseconds(400));
    };
    options.make = [this](net::Channel& channel, ReleaseGate& gate) { return Make(channel, gate); };
    RunResult result = RunAll(options, [&](Engine& engine, size_t self) {
      try {
        RunProgram(engine);
      } catch (const Error&) {
        // Given up for good.
        EXPECT_THROW(RunProgram(engine), Error);
        EXPECT_THROW(channels[self]->Exchange({}, {}), Error);
        throw;
      }
    });
    CheckAfter();
    return result;
  }
};

class LiveTransfers : public Setting {
 public:
  std::string kind() const override { return "ot"; }
  std::unique_ptr<Engine> Make(net::Channel& channel, ReleaseGate& gate) override {
    return MakeOtEngine(channel, gate);
  }
};

// A package from a store, agreed and taken as in a study.
class Stored : public Setting {
 public:
  explicit Stored(bool dealer) : dealer_(dealer) {
    RunOptions options;
    options.kind = dealer ? "dealer" : "ot";
    std::vector<Bytes> packages(3);
    options.prepare = [&](net::Channel& channel) {
      crypto::SystemRandom random;
      if (!dealer) {
        packages[channel.self()] =
            EncodePackage(MakeByTransfers<Ring128>(channel, random, RunProgram));
      } else if (channel.self() == 2) {
        DealAhead<Ring128>(channel, RunProgram);
      } else {
        packages[channel.self()] = EncodePackage(ReceiveFromDealer<Ring128>(channel, RunProgram));
      }
    };
    RunAll(options, [](Engine&, size_t) {}).ThrowIfFailed();
    label_ = LabelOf(DecodePackage(packages[0]));
    for (uint64_t self : {0, 1}) {
      Disk disk(1);
      CorrelationStore store = CorrelationStore::Create(disk.Open(), IdentityOf(self));
      store.Append(0, label_, packages[self]);
      images_[self] = disk.durable();
    }
  }

  std::string kind() const override { return dealer_ ? "dealer ahead" : "ot"; }
  void Begin() override {
    for (uint64_t self : {0, 1}) disks_[self].Restore(images_[self]);
    taken_ = false;
  }
  std::unique_ptr<Engine> Make(net::Channel& channel, ReleaseGate& gate) override {
    CorrelationStore store = Open(channel.self());
    const AgreedPackages agreed = AgreeOnPackages(channel, 2, store, label_);
    EXPECT_EQ(agreed.usable, std::vector<uint64_t>{0});
    taken_ = true;
    AheadPackage package = DecodePackage(TakeTogether(channel, 2, store, 0, label_));
    return dealer_ ? MakeDealerEngineAhead(channel, gate, std::move(package))
                   : MakeOtEngineAhead(channel, gate, std::move(package));
  }
  // Whatever happened, once one of them had it, nobody uses it in another run.
  void CheckAfter() override {
    RunOptions options;
    options.kind = "ot";
    options.prepare = [&](net::Channel& channel) {
      CorrelationStore store = Open(channel.self());
      const AgreedPackages agreed = AgreeOnPackages(channel, 2, store, label_);
      EXPECT_EQ(agreed.usable.size(), taken_ ? 0u : 1u);
      if (taken_) {
        EXPECT_THROW(store.Take(0, label_), Error);
      }
    };
    RunAll(options, [](Engine&, size_t) {}).ThrowIfFailed();
  }

 private:
  static StoreIdentity IdentityOf(uint64_t self) {
    StoreIdentity identity;
    identity.fingerprints = {std::string(64, 'a'), std::string(64, 'b')};
    identity.self = self;
    return identity;
  }
  CorrelationStore Open(uint64_t self) {
    return CorrelationStore::Open(disks_[self].Open(), IdentityOf(self));
  }

  bool dealer_;
  crypto::Digest label_{};
  Bytes images_[2];
  Disk disks_[2] = {Disk(1), Disk(2)};
  std::atomic<bool> taken_ = false;
};

void ExpectFaultsAreNoticed(Setting& setting) {
  Faults none;
  setting.Run(none).ThrowIfFailed();
  const size_t frames = none.seen;
  ASSERT_GT(frames, 3u);
  for (const What what : {What::kShortened, What::kRepeated, What::kOlder, What::kSilence}) {
    for (size_t at = 0; at < frames; ++at) {
      if (what == What::kOlder && at == 0) continue;
      // Each of these waits for its time limit.
      if (what == What::kSilence && at != 0 && at != frames / 2 && at + 1 != frames) continue;
      SCOPED_TRACE(::testing::Message() << "fault " << static_cast<int>(what) << " at " << at);
      Faults faults;
      faults.what = what;
      faults.at = at;
      const RunResult result = setting.Run(faults);
      // A repeated last message is never read.
      if (what == What::kRepeated && at + 1 == frames) continue;
      ASSERT_TRUE(result.errors[0]);
      const ErrorCode code = CodeOf(result.errors[0]);
      if (what == What::kSilence) {
        // The silent one itself gives up as well, and closes the connection.
        EXPECT_TRUE(code == ErrorCode::kTimeout || code == ErrorCode::kPeerLost);
      } else {
        EXPECT_EQ(code, ErrorCode::kPeerFault);
      }
      if (result.errors[1]) {
        const ErrorCode other = CodeOf(result.errors[1]);
        EXPECT_TRUE(other == ErrorCode::kPeerLost || other == ErrorCode::kTimeout);
      }
    }
  }
}

TEST(OtFaultsTest, TransfersInTheRun) {
  LiveTransfers setting;
  ExpectFaultsAreNoticed(setting);
}

TEST(OtFaultsTest, StoredTransfers) {
  Stored setting(/*dealer=*/false);
  ExpectFaultsAreNoticed(setting);
}

TEST(OtFaultsTest, StoredFromADealer) {
  Stored setting(/*dealer=*/true);
  ExpectFaultsAreNoticed(setting);
}

// A process that is gone in the middle: its peer is told, and what both took is spent at both.
TEST(OtFaultsTest, APeerThatStops) {
  Stored setting(/*dealer=*/true);
  setting.Begin();
  RunOptions options;
  options.kind = setting.kind();
  options.make = [&](net::Channel& channel, ReleaseGate& gate) {
    return setting.Make(channel, gate);
  };
  const RunResult result = RunAll(options, [](Engine& engine, size_t self) {
    if (self == 0) RunProgram(engine);
  });
  ASSERT_TRUE(result.errors[0]);
  EXPECT_EQ(CodeOf(result.errors[0]), ErrorCode::kPeerLost);
  setting.CheckAfter();
}

}  // namespace
}  // namespace partita::mpc::testing::ot_faults_test
