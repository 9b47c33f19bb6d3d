#include "tests/simulate/model.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <map>

namespace refrain::tests::simulate::model {
namespace {

struct Lists {
  std::vector<std::string> expected, executed;
  std::vector<std::vector<Place>> before;  ///< of each expected one
};

std::uint64_t markers[2] = {0, 0};
bool watched = false;
std::map<std::pair<unsigned, unsigned>, int> numbers;  ///< by ordinals of the driver
std::map<int, Lists> streams;
std::uint64_t count = 0;
std::string strangers, too_early;

bool is_marker(const simulated::Executed& operation, std::uint64_t& value) {
  std::uint64_t words[6];
  if (std::strcmp(operation.kind, "fill") != 0 || operation.size != sizeof words) return false;
  std::memcpy(words, operation.bytes, sizeof words);
  value = words[2];
  return words[0] == markers[0] || words[0] == markers[1];
}

/// The readable part, and the bytes in hexadecimal digits, long ones cut.
std::string readable(const std::string& operation) {
  const std::size_t end = operation.find('\n');
  std::string text = operation.substr(0, end);
  constexpr std::size_t most = 64;
  for (std::size_t i = end + 1; i < operation.size() && i < end + 1 + most; ++i) {
    char digits[4];
    std::snprintf(digits, sizeof digits, "%s%02x", (i - end - 1) % 8 == 0 ? " " : "",
                  static_cast<unsigned char>(operation[i]));
    text += digits;
  }
  return text;
}

/// The next operation of the stream begins: what must be before it has begun.
void note_too_early(int number) {
  const Lists& lists = streams[number];
  const std::size_t at = lists.executed.size();
  if (at >= lists.before.size() || !too_early.empty()) return;
  for (const Place& place : lists.before[at]) {
    if (streams[place.stream].executed.size() >= place.count) continue;
    too_early = "stream " + std::to_string(number) + ", operation " + std::to_string(at) + " began before operation " +
                std::to_string(place.count - 1) + " of stream " + std::to_string(place.stream) + ":\n    " +
                readable(lists.expected[at]) + "\n    " + readable(streams[place.stream].expected[place.count - 1]) +
                '\n';
    return;
  }
}

}  // namespace

void begin(std::uint64_t marker, std::uint64_t other_marker) {
  markers[0] = marker;
  markers[1] = other_marker;
}
void watch() { watched = true; }

void expect(int stream, std::string operation, const std::vector<Place>& before) {
  streams[stream].expected.push_back(std::move(operation));
  streams[stream].before.push_back(before);
}
std::size_t expected(int stream) { return streams[stream].expected.size(); }
void take_back(int stream) {
  streams[stream].expected.pop_back();
  streams[stream].before.pop_back();
}

void executes(const simulated::Executed& one) {
  std::uint64_t value = 0;
  const std::pair<unsigned, unsigned> ordinals{one.context, one.stream};
  if (is_marker(one, value)) {
    numbers[ordinals] = static_cast<int>(value);
    return;
  }
  if (!watched) return;
  ++count;
  const auto found = numbers.find(ordinals);
  std::string text = operation(one.kind, one.name, one.grid, one.block, one.shared, one.bytes, one.size);
  if (found != numbers.end()) {
    note_too_early(found->second);
    streams[found->second].executed.push_back(std::move(text));
  } else if (strangers.empty()) {
    strangers = "on a stream that is not the program's: " + readable(text) + '\n';
  }
}

std::uint64_t executed() { return count; }

std::string differences() {
  std::string text = strangers + too_early;
  for (const auto& [number, lists] : streams) {
    const std::vector<std::string>&expected = lists.expected, &executed = lists.executed;
    if (expected == executed) continue;
    const std::size_t shorter = std::min(expected.size(), executed.size());
    std::size_t at = 0;
    while (at < shorter && expected[at] == executed[at]) ++at;
    text += "stream " + std::to_string(number) + ", operation " + std::to_string(at) + " (passed " +
            std::to_string(expected.size()) + ", executed " + std::to_string(executed.size()) +
            ")\n    passed:   " + (at < expected.size() ? readable(expected[at]) : "nothing") +
            "\n    executed: " + (at < executed.size() ? readable(executed[at]) : "nothing") + '\n';
  }
  return text;
}

std::string operation(const char* kind, const char* name, const unsigned (&grid)[3], const unsigned (&block)[3],
                      unsigned shared, const std::byte* bytes, std::size_t size) {
  char text[160];
  const int length = std::snprintf(text, sizeof text, "%s %s %u,%u,%u %u,%u,%u %u\n", kind, name, grid[0], grid[1],
                                   grid[2], block[0], block[1], block[2], shared);
  std::string result(text, static_cast<std::size_t>(length));
  result.append(reinterpret_cast<const char*>(bytes), size);
  return result;
}

}  // namespace refrain::tests::simulate::model
