// The kernels as device code. kernels.ptx.inc is made from this file by make_ptx.sh.
#define KERNEL extern "C" __global__ void
#define INDEX (blockIdx.x * blockDim.x + threadIdx.x)

#include "kernel_types.h"

using namespace refrain::tests::training;
using Floats = float*;
using ConstFloats = const float*;
using Words = unsigned*;
using ConstWords = const unsigned*;
using Table = TensorTable;

#include "kernel_bodies.h"
