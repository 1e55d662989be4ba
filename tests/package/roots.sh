# SPDX-License-Identifier: BSD-3-Clause
# Clean roots of a release of Debian, for prove and newcomer: source this file with $here set, then
# call `prepare NAME SUITE`. A script that succeeds sets $passed.
source_tree=$(cd "$here/../.." && pwd)

prepare() {
    name=$1
    suite=$2
    [[ $suite =~ ^(bookworm|trixie)$ ]] || { echo "tests/package/$name: found '$suite', expected bookworm (Debian 12) or trixie (13)" >&2; exit 2; }
    [ "$(id -u)" -eq 0 ] || { echo "tests/package/$name: it makes roots of Debian: expected to run as root" >&2; exit 2; }
    work=$(mktemp -d /var/tmp/torusmp-package.XXXXXX)
    log=$work/log
    passed=
    trap finish EXIT
    touch "$log"
    sources >"$work/sources.list"
    apt-config dump | grep -E '^Acquire::' | grep -Ei 'http|check|retries' >"$work/apt.conf" || true
}

# The log without CMake's cache, which dh_auto_configure prints when it fails.
without_caches() { grep -vE '^//|^[[:alnum:]_.-]+:[A-Z]+=|^$' "$log"; }

finish() {
    # The mounts are in namespaces that no longer exist.
    [ -n "$passed" ] || { echo "tests/package/$name: failed; the last lines of what it did:" >&2; without_caches | tail -n 60 >&2; }
    rm -rf --one-file-system "$work"
}

step() {
    echo "$SECONDS s: $*"
    echo "== $*" >>"$log"
}

# The sources of this machine's own apt, as far as they are Debian's, for the suite that is wanted.
sources() {
    local format='deb $(SITE) $(RELEASE) $(COMPONENT)' own
    own=$(. /etc/os-release && echo "$VERSION_CODENAME")
    [ -n "$(apt-get indextargets --format "$format" 'Created-By: Packages' 'Origin: Debian')" ] || apt-get update -qq
    apt-get indextargets --format "$format" 'Created-By: Packages' 'Origin: Debian' | sed "s/ $own/ $suite/" | sort -u
}

make_root() {
    # No manuals of others, no translations, and no waiting for disks.
    mmdebstrap --quiet --mode=root --variant=apt --include=passwd --aptopt="$work/apt.conf" --aptopt='Acquire::Languages "none"' \
        --dpkgopt='path-exclude=/usr/share/locale/*' --dpkgopt='path-exclude=/usr/share/doc/*' \
        --dpkgopt='path-include=/usr/share/doc/*torusmp*' --dpkgopt=force-unsafe-io \
        --skip=cleanup/apt,cleanup/reproducible "$suite" "$1" "$work/sources.list"
    cp /etc/resolv.conf "$1/etc/"
    echo 'APT::Install-Recommends "false";' >"$1/etc/apt/apt.conf.d/99prove"
}

# inside ROOT [--alone] COMMAND...: with what a machine mounts, in a namespace of processes of its own;
# --alone: with no network but the loopback device.
inside() {
    local root=$1 alone=()
    shift
    if [ "$1" = --alone ]; then
        alone=(--net)
        shift
    fi
    unshare --mount --pid --fork --kill-child "${alone[@]}" sh -ec '
        root=$1; shift
        mount --bind "$root" "$root"  # a mount of its own, as ip netns expects of a root
        cd /
        mount -t proc proc "$root/proc"
        mount -t sysfs sysfs "$root/sys"
        mount -t tmpfs -o mode=1777 tmpfs "$root/dev/shm"
        [ ! -d "$root/ccache" ] || mount --bind "$CCACHE_DIR" "$root/ccache"
        [ ! -x /sbin/ip ] || ip link set lo up
        exec chroot "$root" env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
            LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive "$@"' sh "$root" "$@"
}

# This machine's compiler cache in ROOT, with the libraries that it needs. What scripts/test has
# compiled is not compiled again: in ROOT, sources and builds have the paths and the flags that they
# have here with the release preset.
environment=()
lend_cache() {
    local root=$1 program library
    program=$(command -v ccache) || return 0
    CCACHE_DIR=$(ccache --get-config cache_dir) || return 0
    export CCACHE_DIR
    mkdir -p "$CCACHE_DIR" "$root/ccache" "$root/opt/ccache/lib"
    cp -L "$program" "$root/opt/ccache/ccache"
    # The loader too: a loader of another release does not work with these libraries.
    ldd "$program" | awk '$3 ~ /^\// { print $3 }' | while read -r library; do cp -L "$library" "$root/opt/ccache/lib/"; done
    cp -L "$(ldd "$program" | awk '$1 ~ /^\/.*ld-linux/ { print $1 }')" "$root/opt/ccache/loader"
    cat >"$root/opt/ccache/launch" <<END
#!/bin/sh
exec /opt/ccache/loader --library-path /opt/ccache/lib /opt/ccache/ccache "\$@"
END
    chmod +x "$root/opt/ccache/launch"
    environment=(CCACHE_DIR=/ccache CCACHE_DEPEND=1 CCACHE_NOHASHDIR=1 CCACHE_COMPILERCHECK=content CCACHE_SLOPPINESS=locale
        CCACHE_TEMPDIR=/tmp
        CMAKE_C_COMPILER_LAUNCHER=/opt/ccache/launch CMAKE_CXX_COMPILER_LAUNCHER=/opt/ccache/launch)
}

copy_sources() {
    if git -C "$source_tree" rev-parse >/dev/null 2>&1; then
        git -C "$source_tree" ls-files -z
    else
        (cd "$source_tree" && find . -path ./build -prune -o \( -type f -o -type l \) -print0)
    fi | tar -C "$source_tree" --null -T - -c | tar -x --no-same-owner -C "$1"
}
