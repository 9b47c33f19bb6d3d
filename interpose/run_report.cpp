#include "interpose/run_report.h"

#include <unistd.h>

#include <cstdlib>
#include <fstream>

namespace refrain::interpose {

RunReport::RunReport() {
  const char* folder = std::getenv("TMPDIR");
  std::string path = std::string(folder != nullptr && *folder == '/' ? folder : "/tmp") + "/refrain-report-XXXXXX";
  const int file = mkostemp(path.data(), 0);
  if (file < 0) return;
  close(file);
  path_ = path;
}

RunReport::~RunReport() {
  if (!path_.empty()) unlink(path_.c_str());
}

std::vector<Summary> RunReport::read() const {
  std::vector<Summary> summaries;
  std::ifstream file(path_);
  for (std::string line; std::getline(file, line);) {
    Summary summary;
    if (read_report_line(line, summary)) summaries.push_back(summary);
  }
  return summaries;
}

}  // namespace refrain::interpose
