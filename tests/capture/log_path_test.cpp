// One file a process, whatever path the user gave (J6), and the rank from any launcher.
#include <gtest/gtest.h>

#include <map>

#include "capture/log_path.h"
#include "tests/capture/sample_log.h"

namespace refrain::tests {
namespace {

using namespace capture;

const LogIdentity identity{"node7", 3, 4711};

TEST(LogPath, J6_a_path_without_placeholders_gets_host_rank_and_pid) {
  EXPECT_EQ(log_file_name("/logs", PathKind::folder, identity), "/logs/refrain-node7-3-4711.jsonl");
  EXPECT_EQ(log_file_name("/logs/", PathKind::folder, identity), "/logs/refrain-node7-3-4711.jsonl");
  EXPECT_EQ(log_file_name("/logs/run.jsonl", PathKind::file, identity), "/logs/run-node7-3-4711.jsonl");
  EXPECT_EQ(log_file_name("run", PathKind::file, identity), "run-node7-3-4711");
  EXPECT_EQ(log_file_name("/a.b/run", PathKind::file, identity), "/a.b/run-node7-3-4711");
  EXPECT_EQ(log_file_name("/logs/.run", PathKind::file, identity), "/logs/.run-node7-3-4711");
  EXPECT_EQ(log_file_name("100%%.txt", PathKind::file, identity), "100%-node7-3-4711.txt");
}

TEST(LogPath, J6_placeholders_stand_where_the_user_put_them) {
  EXPECT_EQ(log_file_name("/logs/%h/r%r.%p.jsonl", PathKind::file, identity), "/logs/node7/r3.4711.jsonl");
  EXPECT_EQ(log_file_name("%%h%x%", PathKind::file, identity), "%h%x%-node7-3-4711");
  EXPECT_EQ(log_file_name("%r", PathKind::file, {"node7", -1, 1}), "none");
  EXPECT_EQ(log_file_name("/dev/full", PathKind::device, identity), "/dev/full");
}

TEST(LogPath, J6_a_name_that_is_taken_gets_a_number) {
  EXPECT_EQ(next_file_name("/logs/3.jsonl", 1), "/logs/3-2.jsonl");
  EXPECT_EQ(next_file_name("/logs/3", 2), "/logs/3-3");
}

TEST(LogPath, tells_folders_files_and_devices) {
  const TemporaryFolder folder;
  EXPECT_EQ(look_at(folder.path()), PathKind::folder);
  EXPECT_EQ(look_at(folder.file("absent")), PathKind::file);
  EXPECT_EQ(look_at(folder.file("absent/")), PathKind::folder);
  write_file(folder.file("plain"), "text");
  EXPECT_EQ(look_at(folder.file("plain")), PathKind::file);
  EXPECT_EQ(look_at("/dev/null"), PathKind::device);
}

int rank_with(const std::map<std::string, std::string>& environment) {
  return rank_from([&](const char* name) {
    const auto found = environment.find(name);
    return found == environment.end() ? nullptr : found->second.c_str();
  });
}

TEST(Rank, comes_from_the_first_variable_that_holds_one) {
  EXPECT_EQ(rank_with({}), -1);
  EXPECT_EQ(rank_with({{"RANK", "5"}, {"LOCAL_RANK", "1"}, {"SLURM_PROCID", "9"}}), 5);
  EXPECT_EQ(rank_with({{"LOCAL_RANK", "1"}, {"OMPI_COMM_WORLD_RANK", "2"}}), 1);
  EXPECT_EQ(rank_with({{"OMPI_COMM_WORLD_RANK", "2"}, {"SLURM_PROCID", "9"}}), 2);
  EXPECT_EQ(rank_with({{"SLURM_PROCID", "0"}}), 0);
}

TEST(Rank, that_is_no_number_is_passed_over) {
  for (const char* odd : {"", "x", "-1", "1x", " 1", "99999999999"}) {
    EXPECT_EQ(rank_with({{"RANK", odd}, {"SLURM_PROCID", "4"}}), 4) << odd;
  }
}

TEST(Host, has_only_characters_that_suit_a_file_name) {
  const std::string host = host_name();
  EXPECT_FALSE(host.empty());
  EXPECT_EQ(host.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-"),
            std::string::npos);
}

}  // namespace
}  // namespace refrain::tests
