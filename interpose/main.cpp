#include "interpose/command.h"

int main(int count, char** arguments) { return refrain::interpose::run_command(count, arguments); }
