#include "mpc/linear_engine.h"

#include <algorithm>

#include "mpc/prime_field.h"

namespace partita::mpc {

template <typename R>
std::vector<typename R::Word> ToWords(const IntMatrix& matrix) {
  std::vector<typename R::Word> words(matrix.values.size());
  std::transform(matrix.values.begin(), matrix.values.end(), words.begin(), R::FromSigned);
  return words;
}

template <typename R>
IntMatrix FromWords(Shape shape, ConstWords<R> words) {
  IntMatrix matrix{shape, std::vector<Int128>(words.size())};
  std::transform(words.begin(), words.end(), matrix.values.begin(), R::ToSigned);
  return matrix;
}

template <typename R, size_t kComponents, size_t kBitComponents>
auto LinearEngine<R, kComponents, kBitComponents>::SharesOf(const Shared& value) -> const Payload& {
  auto* payload = dynamic_cast<const Payload*>(value.payload.get());
  if (payload == nullptr) {
    throw Error(ErrorCode::kUsage, "a shared value belongs to another engine or was never made",
                "use only handles that this engine returned");
  }
  return *payload;
}

template <typename R, size_t kComponents, size_t kBitComponents>
Shared LinearEngine<R, kComponents, kBitComponents>::WithShares(Shared result,
                                                                Components components) {
  auto payload = std::make_shared<Payload>();
  payload->components = std::move(components);
  result.payload = std::move(payload);
  return result;
}

template <typename R, size_t kComponents, size_t kBitComponents>
Shared LinearEngine<R, kComponents, kBitComponents>::Public(const PublicMatrix& value) {
  Shared result = PublicResult(value, facts_);
  Components components;
  for (size_t c = 0; c < kComponents; ++c) {
    components[c] = this->carries_public(c) ? ToWords<R>(value.values)
                                            : std::vector<Word>(value.values.values.size());
  }
  return WithShares(std::move(result), std::move(components));
}

template <typename R, size_t kComponents, size_t kBitComponents>
Shared LinearEngine<R, kComponents, kBitComponents>::Add(const Shared& a, const Shared& b) {
  Shared result = AddResult(a, b, facts_);
  const Payload &left = SharesOf(a), &right = SharesOf(b);
  Components components;
  for (size_t c = 0; c < kComponents; ++c) {
    components[c].resize(result.shape.size());
    mpc::Add<R>(left.components[c], right.components[c], components[c]);
  }
  return WithShares(std::move(result), std::move(components));
}

template <typename R, size_t kComponents, size_t kBitComponents>
Shared LinearEngine<R, kComponents, kBitComponents>::Subtract(const Shared& a, const Shared& b) {
  Shared result = AddResult(a, b, facts_);
  const Payload &left = SharesOf(a), &right = SharesOf(b);
  Components components;
  for (size_t c = 0; c < kComponents; ++c) {
    components[c].resize(result.shape.size());
    mpc::Sub<R>(left.components[c], right.components[c], components[c]);
  }
  return WithShares(std::move(result), std::move(components));
}

template <typename R, size_t kComponents, size_t kBitComponents>
Shared LinearEngine<R, kComponents, kBitComponents>::Scale(const Shared& a, Int128 factor) {
  Shared result = ScaleResult(a, factor, facts_);
  const Payload& shares = SharesOf(a);
  Components components;
  for (size_t c = 0; c < kComponents; ++c) {
    components[c].resize(result.shape.size());
    mpc::Scale<R>(shares.components[c], R::FromSigned(factor), components[c]);
  }
  return WithShares(std::move(result), std::move(components));
}

template <typename R, size_t kComponents, size_t kBitComponents>
Shared LinearEngine<R, kComponents, kBitComponents>::MultiplyPublic(const PublicMatrix& left,
                                                                    const Shared& right) {
  Shared result = MultiplyPublicResult(left, right, facts_);
  const Payload& shares = SharesOf(right);
  std::vector<Word> factor = ToWords<R>(left.values);
  Components components;
  for (size_t c = 0; c < kComponents; ++c) {
    components[c].resize(result.shape.size());
    MatMul<R>(factor, shares.components[c], result.shape.rows, right.shape.rows, result.shape.cols,
              components[c]);
  }
  return WithShares(std::move(result), std::move(components));
}

template <typename R, size_t kComponents, size_t kBitComponents>
Shared LinearEngine<R, kComponents, kBitComponents>::MultiplyPublic(const Shared& left,
                                                                    const PublicMatrix& right) {
  Shared result = MultiplyPublicResult(left, right, facts_);
  const Payload& shares = SharesOf(left);
  std::vector<Word> factor = ToWords<R>(right.values);
  Components components;
  for (size_t c = 0; c < kComponents; ++c) {
    components[c].resize(result.shape.size());
    MatMul<R>(shares.components[c], factor, result.shape.rows, left.shape.cols, result.shape.cols,
              components[c]);
  }
  return WithShares(std::move(result), std::move(components));
}

template <typename R, size_t kComponents, size_t kBitComponents>
Shared LinearEngine<R, kComponents, kBitComponents>::Transpose(const Shared& a) {
  Shared result = TransposeResult(a);
  const Payload& shares = SharesOf(a);
  Components components;
  for (size_t c = 0; c < kComponents; ++c) {
    components[c].resize(result.shape.size());
    for (size_t i = 0; i < a.shape.rows; ++i) {
      for (size_t j = 0; j < a.shape.cols; ++j) {
        components[c][j * a.shape.rows + i] = shares.components[c][i * a.shape.cols + j];
      }
    }
  }
  return WithShares(std::move(result), std::move(components));
}

template <typename R, size_t kComponents, size_t kBitComponents>
Shared LinearEngine<R, kComponents, kBitComponents>::Slice(const Shared& a, size_t row, size_t col,
                                                           Shape shape) {
  Shared result = SliceResult(a, row, col, shape);
  const Payload& shares = SharesOf(a);
  Components components;
  for (size_t c = 0; c < kComponents; ++c) {
    components[c].resize(shape.size());
    for (size_t i = 0; i < shape.rows; ++i) {
      const Word* from = shares.components[c].data() + (row + i) * a.shape.cols + col;
      std::copy_n(from, shape.cols, components[c].data() + i * shape.cols);
    }
  }
  return WithShares(std::move(result), std::move(components));
}

template <typename R, size_t kComponents, size_t kBitComponents>
Shared LinearEngine<R, kComponents, kBitComponents>::Concatenate(std::span<const Shared> parts,
                                                                 bool by_rows) {
  Shared result = ConcatenateResult(parts, by_rows);
  Components components;
  for (size_t c = 0; c < kComponents; ++c) {
    components[c].resize(result.shape.size());
    size_t row = 0, col = 0;
    for (const Shared& part : parts) {
      const auto& shares = SharesOf(part).components[c];
      for (size_t i = 0; i < part.shape.rows; ++i) {
        std::copy_n(shares.data() + i * part.shape.cols, part.shape.cols,
                    components[c].data() + (row + i) * result.shape.cols + col);
      }
      (by_rows ? row : col) += by_rows ? part.shape.rows : part.shape.cols;
    }
  }
  return WithShares(std::move(result), std::move(components));
}

template <typename R, size_t kComponents, size_t kBitComponents>
Shared LinearEngine<R, kComponents, kBitComponents>::SelectRows(const Shared& a,
                                                                std::span<const size_t> rows) {
  Shared result = SelectRowsResult(a, rows);
  const Payload& shares = SharesOf(a);
  const size_t cols = a.shape.cols;
  Components components;
  for (size_t c = 0; c < kComponents; ++c) {
    components[c].resize(result.shape.size());
    const Word* from = shares.components[c].data();
    Word* to = components[c].data();
    for (size_t row : rows) to = std::copy_n(from + row * cols, cols, to);
  }
  return WithShares(std::move(result), std::move(components));
}

template <typename R, size_t kComponents, size_t kBitComponents>
Shared LinearEngine<R, kComponents, kBitComponents>::SumRows(const Shared& a) {
  Shared result = SumRowsResult(a, facts_);
  const Payload& shares = SharesOf(a);
  Components components;
  for (size_t c = 0; c < kComponents; ++c) {
    components[c].resize(a.shape.cols);
    for (size_t i = 0; i < a.shape.rows; ++i) {
      ConstWords<R> row(shares.components[c].data() + i * a.shape.cols, a.shape.cols);
      mpc::Add<R>(components[c], row, components[c]);
    }
  }
  return WithShares(std::move(result), std::move(components));
}

#define PARTITA_INSTANTIATE(R)                                \
  template std::vector<R::Word> ToWords<R>(const IntMatrix&); \
  template IntMatrix FromWords<R>(Shape, ConstWords<R>);      \
  template class LinearEngine<R, 1>;                          \
  template class LinearEngine<R, 2>;
PARTITA_INSTANTIATE(Ring128)
PARTITA_INSTANTIATE(Ring64)
PARTITA_INSTANTIATE(Ring16)
PARTITA_INSTANTIATE(Ring8)
PARTITA_INSTANTIATE(Ring4)
#undef PARTITA_INSTANTIATE

// Shamir's sharing, with bits over GF(4) or GF(8).
#define PARTITA_INSTANTIATE(F)                                \
  template std::vector<F::Word> ToWords<F>(const IntMatrix&); \
  template IntMatrix FromWords<F>(Shape, ConstWords<F>);      \
  template class LinearEngine<F, 1, 2>;                       \
  template class LinearEngine<F, 1, 3>;
PARTITA_INSTANTIATE(Field127)
PARTITA_INSTANTIATE(Field5)
PARTITA_INSTANTIATE(Field7)
PARTITA_INSTANTIATE(FieldOf5Bits)
PARTITA_INSTANTIATE(FieldOf7Bits)
#undef PARTITA_INSTANTIATE

}  // namespace partita::mpc
