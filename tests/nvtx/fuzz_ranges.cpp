// Bytes as a program that calls NVTX: entry point for libFuzzer, and the property that the corpus test checks.
#include "tests/nvtx/fuzz_ranges.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <set>
#include <vector>

#include "interpose/nvtx_functions.h"

namespace refrain::tests {
namespace {

using interpose::RangeName;
using Functions = interpose::Replaced<0>;

/// Regions that are open. Rule 1 is refused, as the engine refuses where it has no memory.
struct OpenRegions final : interpose::RangeEvents {
  std::set<std::uintptr_t> open;
  std::uintptr_t last = 0;
  bool closed_unknown = false;

  void* opened(unsigned rule) noexcept override {
    if (rule == 1) return nullptr;
    open.insert(++last);
    return reinterpret_cast<void*>(last);
  }
  void closed(void* token) noexcept override {
    closed_unknown |= open.erase(reinterpret_cast<std::uintptr_t>(token)) == 0;
  }
};

OpenRegions& regions() {
  static policy::Settings settings;
  static OpenRegions events;
  static const policy::Selector* const selector = [] {
    settings.regions = {{"attention", "att*"}, {"router", "r?uter*"}, {"layer", "*"}, {"all", "*"}};
    settings.regions[2].path = "outer/*";
    settings.regions[3].domain = "[a-m]*";
    static const policy::Selector made(settings);
    interpose::set_range_events(&events, &made);
    return &made;
  }();
  static_cast<void>(selector);
  return events;
}

/// Names are cut to whole characters: no text that is no UTF-8 comes of wide characters.
bool is_utf8(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const auto lead = static_cast<unsigned char>(text[at++]);
    int tail = lead < 0x80 ? 0 : lead >= 0xF0 && lead < 0xF5 ? 3 : lead >= 0xE0 ? 2 : lead >= 0xC2 ? 1 : -1;
    if (tail < 0 || lead >= 0xF5) return false;
    for (; tail > 0; --tail) {
      if (at == text.size() || (static_cast<unsigned char>(text[at++]) & 0xC0) != 0x80) return false;
    }
  }
  return true;
}

class Program {
 public:
  explicit Program(std::string_view bytes) : rest_(bytes) {}

  std::string run() {
    while (!rest_.empty() && fault_.empty()) step();
    // A program's threads end, and so do the ranges that it started.
    interpose::ranges_thread_ends();
    for (const auto& [domain, id] : started_) Functions::DomainRangeEnd(domain, id);
    for (const nvtxDomainHandle_t domain : domains_) {
      if (domain != nullptr) Functions::DomainDestroy(domain);
    }
    if (fault_.empty() && regions().closed_unknown) fault_ = "a region is closed that is not open";
    if (fault_.empty() && !regions().open.empty()) fault_ = "a region stays open";
    regions().open.clear();
    regions().closed_unknown = false;
    return fault_;
  }

 private:
  unsigned number() {
    if (rest_.empty()) return 0;
    const auto value = static_cast<unsigned char>(rest_.front());
    rest_.remove_prefix(1);
    return value;
  }
  std::string_view bytes(std::size_t most) {
    const std::size_t size = number() % (most + 1);
    const std::string_view taken = rest_.substr(0, size);
    rest_.remove_prefix(taken.size());
    return taken;
  }
  /// Text in a block of its own size.
  template <typename Character>
  const Character* text() {
    const std::size_t longest = sizeof(Character) == 1 ? 64 : 255;
    const std::string_view taken = bytes(longest);
    const std::size_t size = taken.size() / sizeof(Character);
    const auto block = std::shared_ptr<Character[]>(new Character[size + 1]());
    if (size != 0) std::memcpy(block.get(), taken.data(), size * sizeof(Character));
    kept_.push_back(block);
    return block.get();
  }
  nvtxDomainHandle_t domain() { return domains_[number() % domains_.size()]; }

  /// Attributes in a block of the size that they tell, at least the four bytes that tell it.
  const nvtxEventAttributes_t* attributes() {
    const unsigned form = number();
    if (form == 0) return nullptr;
    const auto version = static_cast<std::uint16_t>(form % 4);
    const auto size = static_cast<std::uint16_t>(form % 2 == 0 ? sizeof(nvtxEventAttributes_t) : number());
    nvtxEventAttributes_t whole{};
    whole.version = version;
    whole.size = size;
    whole.messageType = static_cast<std::int32_t>(number() % 8) - (form % 16 == 8 ? 5 : 0);
    switch (whole.messageType) {
      case NVTX_MESSAGE_TYPE_ASCII: whole.message.ascii = form % 8 == 4 ? nullptr : text<char>(); break;
      case NVTX_MESSAGE_TYPE_UNICODE: whole.message.unicode = form % 8 == 4 ? nullptr : text<wchar_t>(); break;
      case NVTX_MESSAGE_TYPE_REGISTERED: whole.message.registered = strings_[number() % strings_.size()]; break;
      default: whole.message.ascii = reinterpret_cast<const char*>(std::uintptr_t{0x41}); break;
    }
    const std::size_t told = std::max<std::size_t>(size, offsetof(nvtxEventAttributes_t, category));
    const auto block = std::shared_ptr<char[]>(new char[told]());
    std::memcpy(block.get(), &whole, std::min(told, sizeof whole));
    kept_.push_back(block);
    const auto* result = reinterpret_cast<const nvtxEventAttributes_t*>(block.get());
    check(RangeName(interpose::message_of(result)), interpose::message_of(result).kind);
    return result;
  }

  void check(const RangeName& name, interpose::RangeMessage::Kind kind) {
    using Kind = interpose::RangeMessage::Kind;
    if (kind == Kind::wide && (name.text().size() > 1023 || !is_utf8(name.text()))) fault_ = "a wide name is no name";
    if (kind == Kind::none && !name.text().empty()) fault_ = "a name without a message";
  }
  void expect(int level, int wanted, const char* fault) {
    if (level != wanted) fault_ = fault;
  }

  void step() {
    switch (number() % 12) {
      case 0: expect(Functions::RangePushEx(attributes()), depth_[nullptr]++, "a push has another level"); break;
      case 1: expect(Functions::RangePushA(text<char>()), depth_[nullptr]++, "a push has another level"); break;
      case 2: expect(Functions::RangePushW(text<wchar_t>()), depth_[nullptr]++, "a push has another level"); break;
      case 3: pop(nullptr, Functions::RangePop()); break;
      case 4: {
        const nvtxDomainHandle_t in = domain();
        expect(Functions::DomainRangePushEx(in, attributes()), depth_[in]++, "a push in a domain has another level");
        break;
      }
      case 5: {
        const nvtxDomainHandle_t in = domain();
        pop(in, Functions::DomainRangePop(in));
        break;
      }
      case 6: {
        const nvtxDomainHandle_t in = domain();
        started_.emplace_back(in, Functions::DomainRangeStartEx(in, attributes()));
        break;
      }
      case 7: started_.emplace_back(nullptr, Functions::RangeStartA(text<char>())); break;
      case 8: end(); break;
      case 9:
        if (domains_.size() < most_domains) domains_.push_back(Functions::DomainCreateA(text<char>()));
        break;
      case 10: {
        const nvtxDomainHandle_t in = domain();
        Functions::DomainDestroy(in);
        if (in != nullptr) depth_[in] = 0;
        break;
      }
      default: strings_.push_back(Functions::DomainRegisterStringW(domain(), text<wchar_t>())); break;
    }
  }

  void pop(nvtxDomainHandle_t domain, int level) {
    int& depth = depth_[domain];
    const bool right = depth == 0 ? level == interpose::no_open_range : level == --depth;
    if (!right) fault_ = "a pop has another level";
  }
  void end() {
    if (started_.empty()) return Functions::RangeEnd(number());
    const auto [domain, id] = started_[number() % started_.size()];
    Functions::DomainRangeEnd(domain, id);
  }

  static constexpr std::size_t most_domains = 16;
  std::string_view rest_;
  std::string fault_;
  std::vector<nvtxDomainHandle_t> domains_{nullptr};
  std::vector<nvtxStringHandle_t> strings_{nullptr, reinterpret_cast<nvtxStringHandle_t>(std::uintptr_t{0x1234})};
  std::vector<std::pair<nvtxDomainHandle_t, nvtxRangeId_t>> started_;
  std::map<nvtxDomainHandle_t, int> depth_;
  std::vector<std::shared_ptr<void>> kept_;  // the program's memory, until it ends
};

}  // namespace

std::string broken_range_promise(std::string_view program) {
  regions();
  return Program(program).run();
}

}  // namespace refrain::tests

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (!refrain::tests::broken_range_promise({reinterpret_cast<const char*>(data), size}).empty()) __builtin_trap();
  return 0;
}
