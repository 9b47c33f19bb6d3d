// Events.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "tests/simulated_driver/handle_table.h"
#include "tests/simulated_driver/stream.h"
#include "tests/simulated_driver/work.h"

namespace refrain::tests::simulated {

struct Event {
  CUevent handle = nullptr;
  unsigned flags = 0;
  std::shared_ptr<Context> context;
  std::mutex mutex;
  std::mutex recording;          ///< held while a record is made and submitted
  std::shared_ptr<Record> last;  ///< null: never recorded

  // Of an event that was last recorded in a capture; guarded by the lock of capture.h.
  std::weak_ptr<Capture> capture;
  std::vector<Dependency> capture_dependencies;
  bool captured = false;

  std::shared_ptr<Record> newest() {
    const std::lock_guard lock(mutex);
    return last;
  }
  std::shared_ptr<Record> begin_record() {
    auto record = std::make_shared<Record>();
    const std::lock_guard lock(mutex);
    last = record;
    return record;
  }
};

HandleTable<CUevent, Event>& events();

}  // namespace refrain::tests::simulated
