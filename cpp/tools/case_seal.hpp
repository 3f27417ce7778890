#pragma once

#include <string>
#include <vector>

namespace gpusched {

/// What lies in a case file behind its head: the magic and the format, the length of the rest and
/// its SHA-256.
struct UnsealedCase {
  std::vector<char> contents;
  bool counts_columns;  ///< the number of the jobs' columns stands before them
};

/// Anything that is cut short, longer, or of other contents is an InvalidInput.
UnsealedCase unsealed(std::vector<char> file, const std::string& path);

}  // namespace gpusched
