// The writer keeps whole lines, bounds, and its promise never to disturb the caller.
#include "capture/log_writer.h"

#include <dirent.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <mutex>
#include <thread>

#include "capture/log_reader.h"
#include "tests/capture/sample_log.h"

namespace refrain::tests {
namespace {

using namespace capture;
using namespace std::chrono_literals;

constexpr auto long_enough = 20s;

/// Takes the warnings of a writer.
class Warnings {
 public:
  std::function<void(const std::string&)> callback() {
    return [this](const std::string& text) {
      const std::lock_guard lock(mutex_);
      texts_.push_back(text);
    };
  }
  std::vector<std::string> texts() {
    const std::lock_guard lock(mutex_);
    return texts_;
  }

 private:
  std::mutex mutex_;
  std::vector<std::string> texts_;
};

LogOptions options_for(const std::string& path, Warnings& warnings) {
  LogOptions options;
  options.path = path;
  options.rank = 3;
  options.warn = warnings.callback();
  return options;
}

LogRecord message(const std::string& text) { return MessageRecord{"info", text}; }

/// Ids of the threads of this process that are named refrain-log.
std::vector<std::string> log_threads() {
  std::vector<std::string> found;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task")) {
    std::ifstream file(entry.path() / "comm");
    std::string name;
    std::getline(file, name);
    if (name == "refrain-log") found.push_back(entry.path().string());
  }
  return found;
}

/// The descriptors of this process that refer to `file`.
std::vector<int> descriptors_of(const std::string& file) {
  std::vector<int> found;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code gone;
    if (std::filesystem::read_symlink(entry.path(), gone) == file) found.push_back(std::stoi(entry.path().filename()));
  }
  return found;
}

TEST(LogWriter, writes_what_it_was_given_in_order) {
  const TemporaryFolder folder;
  Warnings warnings;
  LogWriter writer(options_for(folder.path(), warnings));
  for (LogRecord& record : sample_records()) EXPECT_TRUE(writer.write(std::move(record)));
  EXPECT_TRUE(writer.flush(long_enough));
  EXPECT_EQ(writer.file_name(), folder.file("refrain-" + host_name() + "-3-" + std::to_string(getpid()) + ".jsonl"));
  EXPECT_TRUE(writer.close(long_enough));
  LogReader reader(folder.only_file());
  LogEntry entry;
  double time = 0;
  for (const LogRecord& record : sample_records()) {
    ASSERT_EQ(reader.next(entry), LogReader::Status::record) << reader.error();
    EXPECT_EQ(entry.record.index(), record.index());
    EXPECT_GE(entry.time, time);
    time = entry.time;
  }
  EXPECT_EQ(reader.next(entry), LogReader::Status::end);
  EXPECT_TRUE(warnings.texts().empty());
  EXPECT_EQ(writer.dropped(), 0U);
}

TEST(LogWriter, without_a_record_there_is_no_thread_and_no_file) {
  const TemporaryFolder folder;
  Warnings warnings;
  LogWriter writer(options_for(folder.path(), warnings));
  EXPECT_TRUE(log_threads().empty());
  EXPECT_TRUE(writer.flush(long_enough));
  EXPECT_TRUE(writer.close(long_enough));
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
  LogWriter none{LogOptions{}};
  EXPECT_FALSE(none.write(message("nowhere")));
}

TEST(LogWriter, its_thread_has_a_name_and_blocks_every_signal) {
  const TemporaryFolder folder;
  Warnings warnings;
  LogWriter writer(options_for(folder.path(), warnings));
  sigset_t before, after;
  pthread_sigmask(SIG_SETMASK, nullptr, &before);
  writer.write(message("start"));
  pthread_sigmask(SIG_SETMASK, nullptr, &after);
  EXPECT_EQ(sigismember(&before, SIGUSR1), sigismember(&after, SIGUSR1));
  ASSERT_TRUE(writer.flush(long_enough));
  const std::vector<std::string> threads = log_threads();
  ASSERT_EQ(threads.size(), 1U);
  std::ifstream status(threads[0] + "/status");
  std::string blocked;
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("SigBlk:")) blocked = line.substr(line.find_first_not_of(" \t", 7));
  }
  const std::uint64_t mask = std::stoull(blocked, nullptr, 16);
  for (const int signal :
       {SIGHUP, SIGINT, SIGQUIT, SIGUSR1, SIGSEGV, SIGUSR2, SIGPIPE, SIGALRM, SIGTERM, SIGCHLD, SIGPROF, SIGXFSZ}) {
    EXPECT_NE(mask >> (signal - 1) & 1, 0U) << signal;
  }
}

TEST(LogWriter, its_descriptor_is_high_and_closed_on_exec) {
  const TemporaryFolder folder;
  Warnings warnings;
  LogWriter writer(options_for(folder.path(), warnings));
  writer.write(message("start"));
  ASSERT_TRUE(writer.flush(long_enough));
  const std::vector<int> descriptors = descriptors_of(folder.only_file());
  ASSERT_EQ(descriptors.size(), 1U);
  EXPECT_GT(descriptors[0], STDERR_FILENO);
  EXPECT_NE(fcntl(descriptors[0], F_GETFD) & FD_CLOEXEC, 0);
  EXPECT_NE(fcntl(descriptors[0], F_GETFL) & O_APPEND, 0);
  ASSERT_TRUE(writer.close(long_enough));
  EXPECT_TRUE(descriptors_of(folder.only_file()).empty());
}

TEST(LogWriter, J5_stops_at_its_size_and_says_so_and_writes_the_counters_at_exit) {
  const TemporaryFolder folder;
  Warnings warnings;
  LogOptions options = options_for(folder.path(), warnings);
  options.max_bytes = 20000;
  LogWriter writer(options);
  EXPECT_TRUE(writer.write(HeaderRecord{}));
  for (int index = 0; index < 1000; ++index) writer.write(message(std::string(100, 'x')));
  EXPECT_FALSE(writer.flush(long_enough));
  EXPECT_FALSE(writer.write(message("after the end")));
  const std::string content = read_file(folder.only_file());
  EXPECT_LE(content.size(), 20000U);
  EXPECT_GT(content.size(), 19000U);
  const std::vector<std::string> lines = split_lines(content);
  EXPECT_NE(lines.back().find("has reached its limit of 20000 bytes"), std::string::npos) << lines.back();
  // Each record is either a line before the last one, or counted.
  EXPECT_EQ(lines.size() - 1 + writer.dropped(), 1002U);
  CountersRecord counters;
  EXPECT_FALSE(writer.write(CountersRecord(counters))) << "those at intervals find no room";
  counters.at_exit = true;
  counters.total.calls = 1234;
  EXPECT_TRUE(writer.write(CountersRecord(counters)));
  EXPECT_FALSE(writer.close(long_enough));
  const std::vector<std::string> all = split_lines(read_file(folder.only_file()));
  ASSERT_EQ(all.size(), lines.size() + 1);
  EXPECT_NE(all.back().find("\"calls\":1234"), std::string::npos) << all.back();
  EXPECT_TRUE(warnings.texts().empty());
}

TEST(LogWriter, a_full_disk_gives_one_warning) {
  Warnings warnings;
  LogWriter writer(options_for("/dev/full", warnings));
  for (int index = 0; index < 100; ++index) writer.write(message("no room"));
  EXPECT_FALSE(writer.flush(long_enough));
  EXPECT_FALSE(writer.close(long_enough));
  ASSERT_EQ(warnings.texts().size(), 1U);
  EXPECT_EQ(warnings.texts()[0], "no capture log from here on: /dev/full: No space left on device");
  EXPECT_EQ(writer.dropped(), 100U);
}

TEST(LogWriter, a_file_size_limit_tears_no_line_and_sends_no_signal) {
  const TemporaryFolder folder;
  const pid_t child = fork();
  if (child == 0) {
    const struct rlimit limit { 5000, 5000 };
    setrlimit(RLIMIT_FSIZE, &limit);
    Warnings warnings;
    LogWriter writer(options_for(folder.path(), warnings));
    writer.write(HeaderRecord{});
    for (int index = 0; index < 100; ++index) writer.write(message(std::string(100, 'x')));
    writer.close(long_enough);
    _exit(warnings.texts().size() == 1 ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  const std::string content = read_file(folder.only_file());
  EXPECT_GT(content.size(), 4000U);
  EXPECT_EQ(content.back(), '\n');
}

TEST(LogWriter, J6_an_unwritable_folder_gives_one_warning_and_the_job_goes_on) {
  const TemporaryFolder folder;
  write_file(folder.file("file"), "");
  Warnings warnings;
  LogWriter writer(options_for(folder.file("file/inside"), warnings));
  for (int index = 0; index < 10; ++index) writer.write(message("nowhere"));
  EXPECT_FALSE(writer.flush(long_enough));
  EXPECT_FALSE(writer.write(message("nowhere")));
  EXPECT_FALSE(writer.close(long_enough));
  ASSERT_EQ(warnings.texts().size(), 1U);
  EXPECT_NE(warnings.texts()[0].find(folder.file("file/inside")), std::string::npos);
  EXPECT_NE(warnings.texts()[0].find("Not a directory"), std::string::npos);
  EXPECT_EQ(writer.dropped(), 11U);
}

TEST(LogWriter, a_closed_descriptor_gives_one_warning_and_no_other_file_is_written) {
  const TemporaryFolder folder;
  Warnings warnings;
  LogWriter writer(options_for(folder.path(), warnings));
  writer.write(message("before"));
  ASSERT_TRUE(writer.flush(long_enough));
  const std::string log = folder.only_file();
  const std::vector<int> descriptors = descriptors_of(log);
  ASSERT_EQ(descriptors.size(), 1U);
  // The program closes it and, as programs do, gets the same number for a file of its own.
  const std::string other = folder.file("other");
  const int own = open(other.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
  ASSERT_EQ(dup2(own, descriptors[0]), descriptors[0]);
  for (int index = 0; index < 10; ++index) writer.write(message("after"));
  EXPECT_FALSE(writer.close(long_enough));
  EXPECT_EQ(read_file(other), "");
  EXPECT_EQ(split_lines(read_file(log)).size(), 1U);
  EXPECT_EQ(warnings.texts().size(), 1U);
  EXPECT_EQ(fcntl(descriptors[0], F_GETFD), 0) << "the program's descriptor is still open";
  close(own);
  close(descriptors[0]);
}

/// A log that nobody reads: its writer hangs in open() until somebody does.
class HangingLog {
 public:
  HangingLog() { EXPECT_EQ(mkfifo(name().c_str(), 0600), 0); }
  std::string name() const { return folder_.file("hanging"); }
  /// Reads everything, in a thread of its own, until the writer closes.
  void release() {
    reader_ = std::thread([this] { content_ = read_file(name()); });
  }
  std::string content() {
    reader_.join();
    return content_;
  }

 private:
  TemporaryFolder folder_;
  std::thread reader_;
  std::string content_;
};

TEST(LogWriter, a_full_queue_drops_and_counts_without_waiting) {
  HangingLog log;
  Warnings warnings;
  LogOptions options = options_for(log.name(), warnings);
  options.max_queued_records = 10;
  LogWriter writer(options);
  int taken = 0;
  for (int index = 0; index < 1000; ++index) taken += writer.write(message(std::to_string(index))) ? 1 : 0;
  EXPECT_EQ(taken, 10);
  EXPECT_EQ(writer.dropped(), 990U);
  CountersRecord last;
  last.at_exit = true;
  EXPECT_TRUE(writer.write(last)) << "the counters at exit find room";
  EXPECT_FALSE(writer.flush(1ms)) << "nothing can be written yet";
  log.release();
  EXPECT_TRUE(writer.close(long_enough));
  EXPECT_EQ(split_lines(log.content()).size(), 11U);
}

TEST(LogWriter, the_queue_is_bounded_in_bytes) {
  HangingLog log;
  Warnings warnings;
  LogOptions options = options_for(log.name(), warnings);
  options.max_queued_bytes = 10000;
  LogWriter writer(options);
  EXPECT_TRUE(writer.write(message(std::string(5000, 'x'))));
  EXPECT_FALSE(writer.write(message(std::string(5000, 'x'))));
  SequenceRecord sequence;
  sequence.operations.resize(1000);
  EXPECT_FALSE(writer.write(sequence));
  EXPECT_TRUE(writer.write(message("short")));
  log.release();
  EXPECT_TRUE(writer.close(long_enough));
  EXPECT_EQ(writer.dropped(), 2U);
  EXPECT_EQ(split_lines(log.content()).size(), 2U);
}

TEST(LogWriter, close_is_bounded_when_the_disk_hangs) {
  HangingLog log;
  Warnings warnings;
  std::string content;
  {
    LogWriter writer(options_for(log.name(), warnings));
    writer.write(message("stuck"));
    const auto start = std::chrono::steady_clock::now();
    EXPECT_FALSE(writer.close(50ms));
    EXPECT_FALSE(writer.write(message("late")));
    EXPECT_FALSE(writer.close(50ms)) << "twice is harmless";
    EXPECT_LT(std::chrono::steady_clock::now() - start, 10s);
  }
  // The thread outlives its writer and ends as soon as it can.
  log.release();
  EXPECT_EQ(log.content(), "");
}

// A machine that is suspended, or so busy that nothing of the process runs.
TEST(LogWriter, time_in_which_the_process_stands_still_does_not_count) {
  HangingLog log;
  Warnings warnings;
  while (!log_threads().empty())
    std::this_thread::sleep_for(1ms);  // of earlier tests: a child may start no thread then
  const pid_t child = fork();
  if (child == 0) {
    LogWriter writer(options_for(log.name(), warnings));
    writer.write(message("late"));
    _exit(writer.close(4s) ? 0 : 1);
  }
  std::this_thread::sleep_for(500ms);
  kill(child, SIGSTOP);
  std::this_thread::sleep_for(4s);
  log.release();
  kill(child, SIGCONT);
  int status = -1;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
  close(open(log.name().c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC));  // the reader ends, whatever the child did
  EXPECT_EQ(split_lines(log.content()).size(), 1U);
}

TEST(LogWriter, many_threads_write_whole_lines) {
  const TemporaryFolder folder;
  Warnings warnings;
  LogWriter writer(options_for(folder.path(), warnings));
  writer.write(HeaderRecord{});
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 8; ++thread) {
    threads.emplace_back([&, thread] {
      for (int index = 0; index < 100; ++index) {
        writer.write(message(std::string(static_cast<std::size_t>(index), static_cast<char>('a' + thread))));
        if (index % 25 == 0) writer.flush(long_enough);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_TRUE(writer.close(long_enough));
  LogReader reader(folder.only_file());
  LogEntry entry;
  int records = 0;
  while (reader.next(entry) == LogReader::Status::record) ++records;
  EXPECT_EQ(reader.error(), "");
  EXPECT_FALSE(reader.torn());
  EXPECT_EQ(records, 801);
}

TEST(LogWriter, closing_while_others_write_loses_nothing_uncounted) {
  const TemporaryFolder folder;
  Warnings warnings;
  LogWriter writer(options_for(folder.path(), warnings));
  std::atomic<bool> begun{false};
  std::thread other([&] {
    for (int index = 0; index < 2000; ++index) {
      writer.write(message("x"));
      begun = true;
    }
  });
  while (!begun) std::this_thread::yield();
  writer.close(long_enough);
  other.join();
  EXPECT_EQ(split_lines(read_file(folder.only_file())).size() + writer.dropped(), 2000U);
}

}  // namespace
}  // namespace refrain::tests
