// Several processes and one path, killed processes, forked children.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <set>
#include <thread>

#include "capture/log_reader.h"
#include "capture/log_writer.h"
#include "tests/capture/sample_log.h"

namespace refrain::tests {
namespace {

using namespace capture;
using namespace std::chrono_literals;

constexpr auto long_enough = 20s;
constexpr int records = 300;

LogRecord long_message() { return MessageRecord{"info", std::string(3000, 'x')}; }

/// What one rank does; it never returns. The one to be killed writes until that happens.
[[noreturn]] void be_rank(const std::string& path, int rank, bool for_ever) {
  LogOptions options;
  options.path = path;
  options.rank = rank;
  LogWriter writer(options);
  HeaderRecord header;
  header.rank = rank;
  header.pid = getpid();
  writer.write(header);
  for (int index = 0; for_ever || index < records; ++index) {
    writer.write(long_message());
    if (index % 10 == 0) writer.flush(long_enough);
  }
  _exit(writer.close(long_enough) && writer.dropped() == 0 ? 0 : 1);
}

/// The number of messages in the log of `rank`, all of whose lines must be whole.
int messages_in(const std::string& path, int& rank) {
  const std::string content = read_file(path);
  LogReader reader(path);
  LogEntry entry;
  EXPECT_EQ(reader.next(entry), LogReader::Status::record) << reader.error();
  rank = std::get<HeaderRecord>(entry.record).rank;
  EXPECT_NE(path.find(std::string("-") + std::to_string(rank) + "-" +
                      std::to_string(std::get<HeaderRecord>(entry.record).pid)),
            std::string::npos)
      << path;
  int count = 0;
  while (reader.next(entry) == LogReader::Status::record) {
    EXPECT_EQ(std::get<MessageRecord>(entry.record).text, std::string(3000, 'x'));
    ++count;
  }
  EXPECT_EQ(reader.error(), "");
  // Only the operating system can tear a line, the last one, of a process that is killed inside write().
  EXPECT_TRUE(reader.torn() || content.ends_with('\n'));
  return count;
}

void eight_ranks(const TemporaryFolder& folder, const std::string& path) {
  constexpr int ranks = 8, killed = 5;
  std::array<pid_t, ranks> children{};
  for (int rank = 0; rank < ranks; ++rank) {
    children[static_cast<std::size_t>(rank)] = fork();
    if (children[static_cast<std::size_t>(rank)] == 0) be_rank(path, rank, rank == killed);
  }
  // Rank 5 is killed while it writes.
  const auto bytes_of_killed = [&] {
    for (const auto& entry : std::filesystem::directory_iterator(folder.path())) {
      if (entry.path().string().find("-5-") != std::string::npos) return entry.file_size();
    }
    return std::uintmax_t{0};
  };
  const auto deadline = std::chrono::steady_clock::now() + 3 * long_enough;
  while (bytes_of_killed() < 100000 && std::chrono::steady_clock::now() < deadline) std::this_thread::sleep_for(1ms);
  kill(children[killed], SIGKILL);
  for (int rank = 0; rank < ranks; ++rank) {
    int status = 0;
    waitpid(children[static_cast<std::size_t>(rank)], &status, 0);
    const bool good = rank == killed ? WIFSIGNALED(status) : WIFEXITED(status) && WEXITSTATUS(status) == 0;
    EXPECT_TRUE(good) << "rank " << rank << ": " << status;
  }
  std::set<int> seen;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path())) {
    int rank = -1;
    const int count = messages_in(entry.path().string(), rank);
    EXPECT_TRUE(seen.insert(rank).second) << "two files of rank " << rank;
    if (rank == killed) {
      EXPECT_GT(count, 10);
    } else {
      EXPECT_EQ(count, records);
    }
  }
  EXPECT_EQ(seen.size(), static_cast<std::size_t>(ranks));
}

TEST(LogProcesses, J6_eight_processes_share_a_folder_and_one_is_killed) {
  const TemporaryFolder folder;
  eight_ranks(folder, folder.path());
}

TEST(LogProcesses, J6_eight_processes_share_a_file_name_and_one_is_killed) {
  const TemporaryFolder folder;
  eight_ranks(folder, folder.file("run.jsonl"));
}

TEST(LogProcesses, J6_a_second_run_does_not_write_into_the_first_ones_log) {
  const TemporaryFolder folder;
  for (int run = 0; run < 3; ++run) {
    LogOptions options;
    options.path = folder.file("rank%r.jsonl");
    options.rank = 0;
    LogWriter writer(options);
    writer.write(MessageRecord{"info", "run " + std::to_string(run)});
    EXPECT_TRUE(writer.close(long_enough));
  }
  EXPECT_NE(read_file(folder.file("rank0.jsonl")).find("run 0"), std::string::npos);
  EXPECT_NE(read_file(folder.file("rank0-2.jsonl")).find("run 1"), std::string::npos);
  EXPECT_NE(read_file(folder.file("rank0-3.jsonl")).find("run 2"), std::string::npos);
}

/// Runs `in_child` in a child of fork while another thread keeps the writer's lock busy; true when it came to an end.
template <typename InChild>
bool survives_fork(LogWriter& writer, InChild in_child) {
  std::atomic<bool> stop{false};
  std::thread busy([&] {
    while (!stop) writer.write(MessageRecord{"info", "busy"});
  });
  bool good = true;
  for (int attempt = 0; attempt < 20 && good; ++attempt) {
    const pid_t child = fork();
    if (child == 0) {
      alarm(20);
      in_child();
      _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    good = WIFEXITED(status) && WEXITSTATUS(status) == 0;
  }
  stop = true;
  busy.join();
  return good;
}

TEST(LogProcesses, a_forked_child_is_inert_and_the_parent_goes_on) {
  const TemporaryFolder folder;
  LogOptions options;
  options.path = folder.path();
  auto writer = std::make_unique<LogWriter>(options);
  writer->write(HeaderRecord{});
  const auto use = [&] {
    const bool wrote = writer->write(MessageRecord{"info", "from the child"});
    const bool flushed = writer->flush(long_enough), closed = writer->close(long_enough);
    if (wrote || flushed || closed || writer->dropped() != 0 || !writer->file_name().empty()) _exit(1);
  };
  EXPECT_TRUE(survives_fork(*writer, use)) << "without the fork handler";
  EXPECT_TRUE(survives_fork(*writer, [&] {
    writer->abandon();
    use();
    writer.reset();
  }));
  EXPECT_TRUE(writer->flush(long_enough));
  EXPECT_TRUE(writer->write(MessageRecord{"info", "the parent's last"}));
  EXPECT_TRUE(writer->close(long_enough));
  const std::string content = read_file(folder.only_file());
  EXPECT_EQ(content.find("from the child"), std::string::npos);
  EXPECT_NE(split_lines(content).back().find("the parent's last"), std::string::npos);
}

TEST(LogProcesses, abandon_makes_a_writer_inert_at_once) {
  const TemporaryFolder folder;
  LogOptions options;
  options.path = folder.path();
  LogWriter writer(options);
  writer.abandon();
  EXPECT_FALSE(writer.write(HeaderRecord{}));
  EXPECT_FALSE(writer.close(long_enough));
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

}  // namespace
}  // namespace refrain::tests
