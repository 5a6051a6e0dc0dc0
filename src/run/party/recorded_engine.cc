#include "run/party/recorded_engine.h"

#include "mpc/operation.h"

namespace partita::run {
namespace {

using mpc::Shared;
using mpc::SharedBits;

// Makes the one protected member of an engine known, to run operations on another.
struct Runnable : mpc::Engine {
  using mpc::Engine::Execute;
};

class RecordedEngine final : public mpc::Engine {
 public:
  RecordedEngine(mpc::Engine& engine, std::vector<Opening>& openings)
      : engine_(engine), openings_(openings) {}

  const mpc::Capabilities& capabilities() const override { return engine_.capabilities(); }
  size_t num_parties() const override { return engine_.num_parties(); }
  std::optional<mpc::PartyIndex> self() const override { return engine_.self(); }
  int ring_bits() const override { return engine_.ring_bits(); }
  void BeginPhase(std::string_view name) override { engine_.BeginPhase(name); }
  void AgreeToOpen() override { engine_.AgreeToOpen(); }
  mpc::FixedOperand Register(mpc::PrivateMatrix matrix) override {
    return engine_.Register(std::move(matrix));
  }
  SharedBits PublicBits(const mpc::BitMatrix& value) override { return engine_.PublicBits(value); }
  SharedBits Xor(const SharedBits& a, const SharedBits& b) override { return engine_.Xor(a, b); }
  SharedBits Not(const SharedBits& a) override { return engine_.Not(a); }
  SharedBits AndPublic(const SharedBits& a, const mpc::BitMatrix& b) override {
    return engine_.AndPublic(a, b);
  }
  SharedBits SelectPlanes(const SharedBits& a, std::span<const size_t> planes) override {
    return engine_.SelectPlanes(a, planes);
  }
  SharedBits JoinPlanes(std::span<const SharedBits> parts) override {
    return engine_.JoinPlanes(parts);
  }
  SharedBits RandomBits(mpc::Shape shape, size_t width, crypto::RandomSource& own) override {
    return engine_.RandomBits(shape, width, own);
  }
  mpc::OracleUse RunOracle(const Shared& values, const mpc::OracleTask& task,
                           const mpc::OracleQueries& queries) override {
    return engine_.RunOracle(values, task, queries);
  }
  Shared Public(const mpc::PublicMatrix& value) override { return engine_.Public(value); }
  Shared Add(const Shared& a, const Shared& b) override { return engine_.Add(a, b); }
  Shared Subtract(const Shared& a, const Shared& b) override { return engine_.Subtract(a, b); }
  Shared Scale(const Shared& a, Int128 factor) override { return engine_.Scale(a, factor); }
  Shared MultiplyPublic(const mpc::PublicMatrix& left, const Shared& right) override {
    return engine_.MultiplyPublic(left, right);
  }
  Shared MultiplyPublic(const Shared& left, const mpc::PublicMatrix& right) override {
    return engine_.MultiplyPublic(left, right);
  }
  Shared Transpose(const Shared& a) override { return engine_.Transpose(a); }
  Shared Slice(const Shared& a, size_t row, size_t col, mpc::Shape shape) override {
    return engine_.Slice(a, row, col, shape);
  }
  Shared Concatenate(std::span<const Shared> parts, bool by_rows) override {
    return engine_.Concatenate(parts, by_rows);
  }
  Shared SelectRows(const Shared& a, std::span<const size_t> rows) override {
    return engine_.SelectRows(a, rows);
  }
  Shared SumRows(const Shared& a) override { return engine_.SumRows(a); }

 protected:
  void Execute(std::span<mpc::Operation> operations) override {
    (engine_.*&Runnable::Execute)(operations);
    for (const mpc::Operation& operation : operations) {
      if (const auto* reveal = std::get_if<mpc::RevealOperation>(&operation))
        openings_.push_back({reveal->release_id, reveal->results});
    }
  }

 private:
  mpc::Engine& engine_;
  std::vector<Opening>& openings_;
};

}  // namespace

std::unique_ptr<mpc::Engine> MakeRecordedEngine(mpc::Engine& engine,
                                                std::vector<Opening>& openings) {
  return std::make_unique<RecordedEngine>(engine, openings);
}

}  // namespace partita::run
