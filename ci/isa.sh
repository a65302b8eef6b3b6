#!/usr/bin/env bash
# On x86-64 Linux, installs what the tests of NEON need: Rust for aarch64, a cross linker, an emulator. Without them the
# tests skip NEON by name. Also LLVM's models of cores, without which `cargo p3 inspect count` and `inspect kernels` print no cycles, and
# z3, without which there are no proofs. Where the CPU lacks AVX-512, Bochs, and a Linux that it starts.
# Elsewhere there is nothing to install.
set -euo pipefail
cd "$(dirname "$0")/.."

[[ $(uname -sm) == "Linux x86_64" ]] || exit 0

if ! command -v qemu-aarch64-static >/dev/null || ! command -v aarch64-linux-gnu-gcc >/dev/null; then
  ci/apt.sh qemu-user-static gcc-aarch64-linux-gnu libc6-dev-arm64-cross
fi
command -v llvm-mca-19 >/dev/null || ci/apt.sh llvm-19
command -v z3 >/dev/null || ci/apt.sh z3

dependency() {
  apt-cache depends "$1" | sed --quiet "s/^ *Depends: \($2.*\)/\1/p"
}
# Leaves a Linux for virtual machines and a shell in target/bochs.
unpack_linux() {
  local dir=$PWD/target/bochs image shell
  # Debian's, else Ubuntu's.
  image=$(dependency linux-image-cloud-amd64 linux-image- || true)
  [[ -n $image ]] || image=$(dependency linux-image-virtual linux-image-) || return
  [[ -n $image ]] && mkdir --parents "$dir" && cd "$dir" && apt-get download "$image" busybox-static || return
  for package in *.deb; do
    dpkg --extract "$package" . || return
  done
  for shell in bin/busybox usr/bin/busybox; do
    [[ ! -f $shell ]] || cp "$shell" busybox || return
  done
  [[ -f busybox ]] && cp boot/vmlinuz-* vmlinuz
}
if ! grep --quiet avx512ifma /proc/cpuinfo; then
  command -v bochs-bin >/dev/null || ci/apt.sh bochs bochs-term vgabios
  [[ -f target/bochs/vmlinuz ]] || (unpack_linux) >&2 ||
    echo "isa.sh: no Linux for Bochs: linux-image-cloud-amd64 or linux-image-virtual, and busybox-static" >&2
fi

# Leaves Debian's compiler with the libraries of both architectures in target/rustc-web, and `rustc` there. Installed, the
# packages conflict with each other and with rustup's.
unpack_debian_rust() {
  local dir=$PWD/target/rustc-web std llvm
  local arm64=(-o APT::Architecture=arm64 -o APT::Architectures=arm64
    -o Dir::State="$dir/state" -o Dir::State::status=/dev/null -o Dir::Cache="$dir/cache")
  std=$(dependency libstd-rust-web-dev libstd-rust-web-) && llvm=$(dependency "$std" libllvm) &&
    ci/apt.sh "$llvm" && mkdir --parents "$dir" && cd "$dir" &&
    apt-get download rustc-web libstd-rust-web-dev "$std" &&
    mkdir --parents state/lists/partial cache/archives/partial &&
    apt-get "${arm64[@]}" update && apt-get "${arm64[@]}" download libstd-rust-web-dev || return
  for package in *.deb; do
    dpkg --extract "$package" . || return
  done
  printf '#!/bin/sh\nLD_LIBRARY_PATH="%s" exec "%s" "$@"\n' "$dir/usr/lib/x86_64-linux-gnu" "$dir/usr/bin/rustc" >rustc
  chmod +x rustc && ./rustc --version
}
if ! rustup target add aarch64-unknown-linux-gnu && [[ ! -x target/rustc-web/rustc ]]; then
  (unpack_debian_rust) >&2 || echo "isa.sh: no Rust for aarch64, neither rustup's nor Debian's rustc-web" >&2
fi
