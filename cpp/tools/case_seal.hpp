#pragma once

#include <string>
#include <vector>

namespace gpusched {

/// What lies in a case file behind its head: the magic and the format, the length of the rest and
/// its SHA-256. Anything that is cut short, longer, or of other contents is an InvalidInput.
std::vector<char> unsealed(std::vector<char> file, const std::string& path);

}  // namespace gpusched
