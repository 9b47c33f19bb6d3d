#!/bin/sh
# Makes kernels.ptx.inc from kernels.cu. Needs nvcc; run it after a change of kernels.cu and check in the result.
# The version and target are lowered to what the code needs, so that any driver and GPU of these years takes it.
set -eu
cd "$(dirname "$0")"
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
nvcc -ptx -arch=compute_75 -std=c++17 -o "$folder/kernels.ptx" kernels.cu
sed -i -e 's/^\.version .*/.version 8.1/' -e 's/^\.target .*/.target sm_70/' -e '/^\/\//d' -e '/^[[:space:]]*\/\//d' -e '/^$/d' "$folder/kernels.ptx"
ptxas -arch=sm_90 -o /dev/null "$folder/kernels.ptx"
{
  echo '// Made by make_ptx.sh from kernels.cu.'
  echo 'R"ptx('
  cat "$folder/kernels.ptx"
  echo ')ptx"'
} > kernels.ptx.inc
