// Shares that are vectors of ring elements, and the local linear algebra on them.
//
// A party's payload holds kComponents matrices: 1 in additive and in Shamir's sharing, 2 in
// replicated sharing. A linear operation acts on each component alone; a public constant is added
// to the components that the constructor names (in additive sharing: at party 0 only, so that all
// components together count it once; in Shamir's at every party, whose share of a constant
// polynomial it is).
//
// Timing  constant in shares and public factors; not in shapes and rows (public). Proved by
//         tests/ctime.
#pragma once

#include <array>
#include <vector>

#include "base/error.h"
#include "mpc/kernels.h"
#include "mpc/linear_bits.h"
#include "mpc/ring.h"
#include "mpc/rules.h"

namespace partita::mpc {

template <typename R, size_t kComponents>
struct RingPayload : Shared::Payload {
  std::array<std::vector<typename R::Word>, kComponents> components;  // row-major, shape.size()
};

template <typename R, size_t kComponents, size_t kBitComponents = kComponents>
class LinearEngine : public LinearBits<kBitComponents> {
 public:
  using Word = typename R::Word;
  using Payload = RingPayload<R, kComponents>;
  using Components = std::array<std::vector<Word>, kComponents>;

  size_t num_parties() const override { return facts_.num_parties; }
  int ring_bits() const override { return facts_.ring_bits; }
  std::optional<PartyIndex> self() const override { return facts_.self; }

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

  // The shares behind a handle. Throws kUsage for a handle of another engine.
  static const Payload& SharesOf(const Shared& value);
  // Gives `result` (shape, fraction bits, bound) its shares.
  static Shared WithShares(Shared result, Components components);

 protected:
  LinearEngine(EngineFacts facts, std::array<bool, kComponents> carries_public,
               std::array<bool, kBitComponents> bits_carry_public)
      : LinearBits<kBitComponents>(bits_carry_public),
        facts_(std::move(facts)),
        carries_public_(carries_public) {}
  // A template, so that an explicit instantiation of other engines leaves it out.
  template <size_t kBits = kBitComponents>
  requires(kComponents == kBits)
      LinearEngine(EngineFacts facts, std::array<bool, kComponents> carries_public)
      : LinearEngine(std::move(facts), carries_public, carries_public) {}
  // The components of matrices that a public constant is added to at this party.
  bool carries_public(size_t component) const { return carries_public_[component]; }

  const EngineFacts& facts() const { return facts_; }

 private:
  EngineFacts facts_;
  std::array<bool, kComponents> carries_public_;
};

// The ring elements of a public matrix, and back.
template <typename R>
std::vector<typename R::Word> ToWords(const IntMatrix& matrix);
template <typename R>
IntMatrix FromWords(Shape shape, ConstWords<R> words);

}  // namespace partita::mpc
