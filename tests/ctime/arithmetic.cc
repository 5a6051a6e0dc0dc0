// Rings and fields: elements, and linear algebra on vectors of them.
#include "mpc/kernels.h"
#include "mpc/prime_field.h"
#include "tests/ctime/poison.h"
#include "tests/ctime/primitives.h"

namespace partita::ctime {
namespace {

using mpc::ConstWords;
using mpc::Words;

// A secret element of F or R, in range.
template <typename R>
std::vector<typename R::Word> Elements(size_t count, uint64_t seed) {
  auto words = Secrets<typename R::Word>(count, seed);
  for (auto& word : words) word = R::Reduce(word);
  return words;
}

template <typename R>
void ElementwiseKernels() {
  using Word = typename R::Word;
  const auto a = Elements<R>(24, 1), b = Elements<R>(24, 2), column = Elements<R>(6, 3);
  std::vector<Word> out(24);
  mpc::Add<R>(a, b, out);
  mpc::Sub<R>(out, b, out);
  mpc::Scale<R>(out, column[0], out);
  mpc::Hadamard<R>(a, out, out);
  mpc::HadamardAccumulate<R>(a, b, out);
  mpc::BroadcastAccumulate<R>(a, column, 4, out);
  for (Word& word : out) word = R::Neg(word);
  for (const Word& word : a) {
    const Int128 number = R::ToSigned(word);
    Use(number);
    const Word residue = R::FromSigned(number);
    Use(residue);
  }
  Use(out);
}

// Blocks of 64 terms and a rest, even and odd numbers of columns, and the few vectors that go
// another way.
template <typename R>
void ProductKernels() {
  for (size_t columns : {1, 2, 5}) {
    const auto left = Elements<R>(columns * 70, 1), right = Elements<R>(70 * 6, 2);
    for (mpc::Narrow narrow :
         {mpc::Narrow{false, false}, {true, false}, {false, true}, {true, true}}) {
      std::vector<typename R::Word> out(columns * 6);
      mpc::MatMul<R>(left, right, columns, 70, 6, out, narrow);
      mpc::GramAccumulate<R>(left, right, 70, columns, 6, out, narrow);
      Use(out);
    }
  }
}

template <typename F>
void FieldElements() {
  using Word = typename F::Word;
  const auto random = Secrets<UInt128>(8);
  for (UInt128 value : random) {
    const Word element = F::FromTape(value);
    const Word power = F::Power(element, 12345), inverse = F::Inverse(element);
    Use(power);
    Use(inverse);
    const Int128 number = F::ToSigned(element);
    const Word residue = F::FromSigned(number);
    Use(residue);
  }
}

}  // namespace

std::vector<Primitive> ArithmeticPrimitives() {
  return {{"elementwise_ring128", ElementwiseKernels<mpc::Ring128>},
          {"elementwise_ring64", ElementwiseKernels<mpc::Ring64>},
          {"elementwise_field127", ElementwiseKernels<mpc::Field127>},
          {"products_ring128", ProductKernels<mpc::Ring128>},
          {"products_ring64", ProductKernels<mpc::Ring64>},
          {"products_field127", ProductKernels<mpc::Field127>},
          {"elements_field127", FieldElements<mpc::Field127>}};
}

}  // namespace partita::ctime
