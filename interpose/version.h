// The version of this build, from meson.build.
#pragma once

namespace refrain::interpose {

inline constexpr const char* refrain_version = REFRAIN_VERSION;

}  // namespace refrain::interpose
