#!/bin/sh
# build.sh DIR - compiles every probe of src/ statically into DIR; what is newer than its sources is left alone.
# Needs gcc, and gcc-multilib for the one 32-bit program.
set -eu
out=${1:?usage: build.sh DIR}
mkdir -p "$out"
out=$(cd "$out" && pwd)
cd "$(dirname "$0")/src"

# stale TARGET SOURCE...: whether TARGET is missing or older than one of its sources (plain sh has no local names)
stale() {
    stale_target=$1
    shift
    [ -e "$stale_target" ] || return 0
    for stale_source in "$@"; do
        [ "$stale_source" -nt "$stale_target" ] && return 0
    done
    return 1
}

# compile TARGET SOURCE FLAG...: through a second name, so that a failed or stopped build leaves nothing behind
compile() {
    compile_target=$1
    compile_source=$2
    shift 2
    gcc -O2 "$@" -o "$compile_target.new" "$compile_source"
    mv "$compile_target.new" "$compile_target"
}

for source in [efmn][0-9][0-9]_*.c; do
    id=${source%.c}
    stale "$out/$id" "$source" probe.h uring.h || continue
    compile "$out/$id" "$source" -static -s -pthread -Wall -Wextra -Wno-unused-function -Wno-clobbered \
        -Wno-zero-length-bounds "-DPROBE_ID=\"$id\""
done
for id in gate handle; do
    stale "$out/$id" "$id.c" || continue
    compile "$out/$id" "$id.c" -static -s -Wall -Wextra
done
for id in prog42 prog43 i386_open; do
    stale "$out/$id" "$id.S" || continue
    machine=-m64
    [ "$id" = i386_open ] && machine=-m32
    compile "$out/$id" "$id.S" "$machine" -nostdlib -static -s -Wl,--build-id=none
done
if stale "$out/prog_dyn" prog_dyn.c; then
    compile "$out/prog_dyn" prog_dyn.c
fi
