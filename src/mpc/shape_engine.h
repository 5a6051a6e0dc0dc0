// An engine without values: shapes, fraction bits and bounds only. The common part of the dealer's
// node and of the PlanEngine.
#pragma once

#include "mpc/engine.h"
#include "mpc/rules.h"

namespace partita::mpc {

class ShapeEngine : public Engine {
 public:
  size_t num_parties() const override { return facts_.num_parties; }
  int ring_bits() const override { return facts_.ring_bits; }
  std::optional<PartyIndex> self() const override { return {}; }
  void AgreeToOpen() override {}

  Shared Public(const PublicMatrix& value) override;
  Shared Add(const Shared& a, const Shared& b) override;
  Shared Subtract(const Shared& a, const Shared& b) override;
  Shared Scale(const Shared& a, Int128 factor) override;
  Shared MultiplyPublic(const PublicMatrix& left, const Shared& right) override;
  Shared MultiplyPublic(const Shared& left, const PublicMatrix& right) override;
  Shared Transpose(const Shared& a) override;
  Shared Slice(const Shared& a, size_t row, size_t col, Shape shape) override;
  Shared Concatenate(std::span<const Shared> parts, bool by_rows) override;
  Shared SelectRows(const Shared& a, std::span<const size_t> rows) override;
  Shared SumRows(const Shared& a) override;

  SharedBits PublicBits(const BitMatrix& value) override;
  SharedBits Xor(const SharedBits& a, const SharedBits& b) override;
  SharedBits Not(const SharedBits& a) override;
  SharedBits AndPublic(const SharedBits& a, const BitMatrix& b) override;
  SharedBits SelectPlanes(const SharedBits& a, std::span<const size_t> planes) override;
  SharedBits JoinPlanes(std::span<const SharedBits> parts) override;
  SharedBits RandomBits(Shape shape, size_t width, crypto::RandomSource& own) override;

 protected:
  explicit ShapeEngine(EngineFacts facts) : facts_(std::move(facts)) {}
  const EngineFacts& facts() const { return facts_; }
  // Checks an operation and gives its shared results their empty payloads.
  void RunOnShapes(Operation& operation) const;

 private:
  EngineFacts facts_;
};

}  // namespace partita::mpc
