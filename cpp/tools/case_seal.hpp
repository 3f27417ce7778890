#pragma once

#include <string>
#include <vector>

namespace gpusched {

/// The content of a case file after its head: the magic and the format, the length of the rest and
/// its SHA-256.
struct UnsealedCase {
  std::vector<char> contents;
  bool counts_columns;  ///< whether the number of job columns precedes them
};

/// Anything that is cut short, longer, or of other contents is an InvalidInput.
UnsealedCase unsealed(std::vector<char> file, const std::string& path);

}  // namespace gpusched
