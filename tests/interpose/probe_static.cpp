// A program without a dynamic loader: nothing can be loaded into it.
#include <cstdio>

int main() { return std::puts("static") < 0 ? 1 : 0; }
