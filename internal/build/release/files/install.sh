#!/bin/sh
# Installs ctx, the client of contextd, for the user who runs it: one file, with its checksum verified, and nothing else.
#
#   curl -fsSL https://github.com/contextd/contextd/releases/latest/download/install.sh | sh
#
#   CTX_INSTALL_DIR  where to; ~/.local/bin unless set
#   CTX_VERSION      another version, such as 1.2.3
#   CTX_INSTALL_URL  where the files of the release are, where they are not at GitHub
#
# The work is in functions: of a download that was cut nothing runs.

fail() {
  printf 'install.sh: %s\n' "$1" >&2
  [ -z "${2-}" ] || printf '  try: %s\n' "$2" >&2
  exit 1
}

has() { command -v "$1" >/dev/null 2>&1; }

# system sets os and arch to those of this machine, as the archives have them.
system() {
  os=$(uname -s)
  arch=$(uname -m)
  case $os in
    Linux) os=linux ;;
    Darwin)
      os=darwin
      # A shell under Rosetta takes the machine for another.
      [ "$arch" != x86_64 ] || [ "$(sysctl -n sysctl.proc_translated 2>/dev/null)" != 1 ] || arch=arm64
      ;;
    MINGW* | MSYS* | CYGWIN*) fail "Windows has no install.sh" "unpack the .zip of the release, from $page" ;;
    *) fail "there is no release of ctx for $os" "go install github.com/contextd/contextd/cmd/ctx@latest" ;;
  esac
  case $arch in
    x86_64 | amd64) arch=amd64 ;;
    aarch64 | arm64) arch=arm64 ;;
    *) fail "there is no release of ctx for $os on $arch" "go install github.com/contextd/contextd/cmd/ctx@latest" ;;
  esac
}

# way finds what to download with from $url, by https alone. Plain http is for this machine; a wget other than GNU's may not check certificates.
way() {
  case $url in
    *@*) fail "CTX_INSTALL_URL holds a user or a password" "the address without them" ;;
    https://*) ;;
    http://127.0.0.1 | http://127.0.0.1[:/]*) ;;
    *) fail "CTX_INSTALL_URL is $url, which is not https" "an address that begins with https://" ;;
  esac
  if has curl; then
    way=curl
  elif has wget && { [ "${url#http:}" != "$url" ] || wget --version 2>/dev/null | grep -q 'GNU Wget'; }; then
    way=wget
  else
    fail "there is neither curl nor GNU wget to download with" "install curl, or unpack an archive from $page"
  fi
}

# download writes the file $1 of the release to $2.
download() {
  case $way$url in
    curlhttps:*) curl --proto '=https' --tlsv1.2 -fsSL -o "$2" "$url/$1" ;;
    curl*) curl --proto '=http' -fsS -o "$2" "$url/$1" ;;
    *) wget -q -O "$2" "$url/$1" ;;
  esac || fail "cannot download $url/$1; nothing was changed" "check the network, and the version $version at $page"
}

# verify compares the file $1 with the checksum of the release for $2.
verify() {
  want=
  while read -r sum file; do
    [ "$file" != "$2" ] || want=$sum
  done <"$tmp/SHA256SUMS"
  [ -n "$want" ] || fail "SHA256SUMS of the release does not name $2; nothing was changed" "another version, with CTX_VERSION"
  if has sha256sum; then
    got=$(sha256sum <"$1")
  elif has shasum; then
    got=$(shasum -a 256 <"$1")
  else
    fail "there is neither sha256sum nor shasum to verify the download with; nothing was changed" "install coreutils or perl"
  fi
  [ "${got%% *}" = "$want" ] ||
    fail "$2 is not what the release holds: its SHA-256 is ${got%% *}, not $want; nothing was changed" "again; if it stays so, report it"
}

clean() {
  rm -rf "$tmp"
  [ -z "$new" ] || rm -f "$new"
}

main() {
  set -eu
  umask 022
  version=${CTX_VERSION:-@VERSION@}
  version=${version#v}
  page=https://github.com/contextd/contextd/releases
  case $version in
    '' | *[!0-9A-Za-z.+-]*) fail "CTX_VERSION is not a version" "such as CTX_VERSION=1.2.3" ;;
  esac
  url=${CTX_INSTALL_URL:-$page/download/v$version}
  url=${url%/}
  dir=${CTX_INSTALL_DIR:-${HOME:?is not set: set CTX_INSTALL_DIR}/.local/bin}
  system
  way
  name=ctx_${version}_${os}_$arch

  new=
  tmp=$(mktemp -d) || fail "cannot make a temporary directory" "another one, with TMPDIR"
  trap clean EXIT
  trap 'exit 130' INT
  trap 'exit 143' TERM HUP
  printf 'Downloading ctx %s for %s on %s\n' "$version" "$os" "$arch"
  download SHA256SUMS "$tmp/SHA256SUMS"
  download "$name.tar.gz" "$tmp/$name.tar.gz"
  verify "$tmp/$name.tar.gz" "$name.tar.gz"
  tar -xzf "$tmp/$name.tar.gz" -C "$tmp" "$name/ctx" || fail "cannot unpack $name.tar.gz; nothing was changed" "install tar and gzip"

  # Renamed in its own directory, so that there is the old program or the new one at any moment, and tried there before.
  mkdir -p "$dir" 2>/dev/null || fail "cannot make the directory $dir" "another one, with CTX_INSTALL_DIR"
  [ ! -d "$dir/ctx" ] || fail "$dir/ctx is a directory" "another place, with CTX_INSTALL_DIR"
  new=$dir/.ctx.$$
  { cp "$tmp/$name/ctx" "$new" && chmod 755 "$new"; } 2>/dev/null || fail "cannot write to $dir" "another directory, with CTX_INSTALL_DIR"
  "$new" version >/dev/null || fail "ctx $version does not run here; nothing was changed" "report it, with the output of uname -a"
  mv -f "$new" "$dir/ctx" || fail "cannot replace $dir/ctx" "another directory, with CTX_INSTALL_DIR"
  new=
  printf 'Installed %s\n' "$dir/ctx"
  case :${PATH-}: in
    *:"$dir":*) ;;
    *) printf "It is not on your PATH yet. For this shell, and in its profile for all:\n\n  export PATH=\"%s:\$PATH\"\n\n" "$dir" ;;
  esac
  printf 'Next: ctx doctor\n'
}

main "$@"
