#include "tests/simulate/program.h"

#include <sstream>
#include <stdexcept>

namespace refrain::tests::simulate {
namespace {

template <class Value>
struct Number {
  const char* name;
  int Value::*member;
  int initial;
};

constexpr Number<Call> call_numbers[] = {
#define NUMBER(name, initial) {#name, &Call::name, initial},
    CALL_NUMBERS
#undef NUMBER
};
constexpr Number<Program> program_numbers[] = {
#define NUMBER(name, initial) {#name, &Program::name, initial},
    PROGRAM_NUMBERS
#undef NUMBER
};
constexpr const char* kind_names[] = {
#define KIND(name) #name,
    CALL_KINDS
#undef KIND
};
constexpr const char* stream_names[] = {"legacy", "per_thread", "blocking", "non_blocking"};

template <class Value, std::size_t count>
void write(std::ostream& out, const Value& value, const Number<Value> (&numbers)[count]) {
  for (const auto& number : numbers) {
    if (value.*number.member != number.initial) out << ' ' << number.name << '=' << value.*number.member;
  }
}

[[noreturn]] void refuse(const std::string& what) { throw std::runtime_error("cannot read \"" + what + "\""); }

/// "name=number"; the number.
int split(const std::string& word, std::string& name) {
  const std::size_t at = word.find('=');
  if (at == std::string::npos) refuse(word);
  name = word.substr(0, at);
  std::size_t used = 0;
  const int number = std::stoi(word.substr(at + 1), &used);
  if (at + 1 + used != word.size()) refuse(word);
  return number;
}

template <class Value, std::size_t count>
void read(std::istream& words, Value& value, const Number<Value> (&numbers)[count]) {
  std::string word, name;
  while (words >> word) {
    const int given = split(word, name);
    bool known = false;
    for (const auto& number : numbers) {
      if (name != number.name) continue;
      value.*number.member = given;
      known = true;
    }
    if (!known) refuse(word);
  }
}

template <std::size_t count>
std::size_t find(const std::string& word, const char* const (&names)[count]) {
  for (std::size_t i = 0; i < count; ++i) {
    if (word == names[i]) return i;
  }
  refuse(word);
}

void read_strand(std::istream& words, Strand& strand) {
  std::string word, name;
  while (words >> word) {
    const int given = split(word, name);
    if (name == "helpers")
      strand.helpers = given;
    else if (name == "buffers")
      strand.buffers = given;
    else if (name == "own_code")
      strand.own_code = given;
    else if (name == "captures")
      strand.captures = given != 0;
    else
      refuse(word);
  }
}

void read_line(std::istringstream& words, const std::string& first, Program& program) {
  if (first == "program") return read(words, program, program_numbers);
  if (first == "strand") return read_strand(words, program.strands.emplace_back());
  if (program.strands.empty()) refuse(first);
  Strand& strand = program.strands.back();
  std::string word, name;
  if (first == "stream") {
    if (!(words >> word)) refuse(first);
    StreamPlan& plan = strand.streams.emplace_back();
    plan.kind = static_cast<StreamKind>(find(word, stream_names));
    if (words >> word) plan.context = split(word, name);
    return;
  }
  if (first == "phase") {
    if (!(words >> word)) refuse(first);
    strand.phases.emplace_back().iterations = split(word, name);
    return;
  }
  if (strand.phases.empty()) refuse(first);
  Call& call = strand.phases.back().calls.emplace_back();
  call.kind = static_cast<Kind>(find(first, kind_names));
  read(words, call, call_numbers);
}

}  // namespace

const char* to_string(Kind kind) { return kind_names[static_cast<std::size_t>(kind)]; }

std::string to_text(const Program& program) {
  std::ostringstream out;
  out << "program";
  write(out, program, program_numbers);
  for (const Strand& strand : program.strands) {
    out << "\nstrand helpers=" << strand.helpers << " buffers=" << strand.buffers << " own_code=" << strand.own_code
        << " captures=" << strand.captures;
    for (const StreamPlan& stream : strand.streams)
      out << "\n  stream " << stream_names[static_cast<std::size_t>(stream.kind)] << " context=" << stream.context;
    for (const Phase& phase : strand.phases) {
      out << "\n  phase iterations=" << phase.iterations;
      for (const Call& call : phase.calls) {
        out << "\n    " << to_string(call.kind);
        write(out, call, call_numbers);
      }
    }
  }
  out << '\n';
  return out.str();
}

Program parse(const std::string& text) {
  Program program;
  std::istringstream lines(text);
  std::string line;
  while (std::getline(lines, line)) {
    std::istringstream words(line);
    std::string first;
    if (!(words >> first) || first[0] == '#') continue;
    read_line(words, first, program);
  }
  for (Strand& strand : program.strands) {
    if (strand.streams.empty()) strand.streams.emplace_back();
    if (strand.buffers < 1) strand.buffers = 1;
  }
  return program;
}

std::string policy_of(const Program& program) {
  std::ostringstream out;
  std::string strict;
  if (program.strict_configuration != 0) strict = "\"configuration\"";
  if (program.strict_parameters != 0) strict += std::string(strict.empty() ? "" : ", ") + "\"parameters\"";
  out << R"({"version": 1, "mode": ")" << (program.observe != 0 ? "observe" : "replay") << R"(", "regions": [)";
  if (program.automatic != 2) out << R"({"range": "region eager", "action": "eager"})";
  for (const char* name : {"region a", "region b", "region c", "region*"}) {
    if (program.automatic == 2) continue;
    if (program.one_rule != 0 && std::string(name) != "region*") continue;
    out << R"(, {"range": ")" << name << R"(", "scope": ")" << (program.process_scope != 0 ? "process" : "thread")
        << R"(", "strict": [)" << strict << "]}";
  }
  out << R"(], "auto": )" << (program.automatic != 0 ? "true" : "false") << ", ";
  out << R"("recording": {"skip": )" << program.skip << R"(, "max_operations": )" << program.max_operations << "}, ";
  out << R"("hold": {"max_hold_us": )" << program.max_hold_us << "}, ";
  out << R"("segment": {"min": )" << program.segment_min << R"(, "max": )" << program.segment_max << "}, ";
  out << R"("replay": {"build_after": )" << program.build_after << R"(, "patch": )"
      << (program.patch != 0 ? "true" : "false") << R"(, "max_failures": )" << program.max_failures
      << R"(, "issue_above_us": )" << program.issue_above_us << "}, ";
  out << R"("limits": {"variants": )" << program.variants << R"(, "graph_mib": )" << program.graph_mib << "}}";
  return out.str();
}

}  // namespace refrain::tests::simulate
