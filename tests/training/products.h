// The three matrix products of a linear layer, as arguments of the kernel `multiply`. All matrices are row by row.
#pragma once

#include "tests/training/kernel_types.h"

namespace refrain::tests::training {

/// out[rows, columns] = left[rows, inner] * right[inner, columns]
inline Product product(unsigned rows, unsigned columns, unsigned inner, bool accumulate = false) {
  return {rows, columns, inner, inner, 1, columns, 1, 1.0f, accumulate};
}

/// out[rows, columns] = left[rows, inner] * right[columns, inner], transposed
inline Product product_right_transposed(unsigned rows, unsigned columns, unsigned inner, bool accumulate = false) {
  return {rows, columns, inner, inner, 1, 1, inner, 1.0f, accumulate};
}

/// out[rows, columns] = left[inner, rows], transposed, * right[inner, columns]
inline Product product_left_transposed(unsigned rows, unsigned columns, unsigned inner, bool accumulate = false) {
  return {rows, columns, inner, 1, rows, columns, 1, 1.0f, accumulate};
}

inline Product scaled(Product product, float scale) {
  product.scale = scale;
  return product;
}

}  // namespace refrain::tests::training
