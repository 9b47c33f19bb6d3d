#!/bin/sh
# Makes kernels.ptx.inc from kernels.cu. Needs nvcc; run it after a change of a kernel and check in the result.
# The version and target are lowered to what the code needs, so that any driver and GPU of these years takes it.
# Products and sums stay separate operations, which keeps the GPU's results close to the host's.
set -eu
cd "$(dirname "$0")"
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
nvcc -ptx -arch=compute_75 -std=c++17 -fmad=false -o "$folder/kernels.ptx" kernels.cu
sed -i -e 's/^\.version .*/.version 7.0/' -e 's/^\.target .*/.target sm_70/' -e '/^[[:space:]]*\/\//d' -e '/^$/d' "$folder/kernels.ptx"
for architecture in sm_75 sm_90 sm_100; do ptxas -arch=$architecture -o /dev/null "$folder/kernels.ptx"; done
{
  echo '// Made by make_ptx.sh from kernels.cu.'
  echo 'R"ptx('
  cat "$folder/kernels.ptx"
  echo ')ptx"'
} > kernels.ptx.inc
