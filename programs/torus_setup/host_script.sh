# SPDX-License-Identifier: BSD-3-Clause
# The part of torus-setup that runs on each host, as root, by a POSIX shell. torus-setup sends it
# with the calls at its end inside one function, so that a text that arrives in part does nothing.
#
# $kept/journal has one line for each change, written before the change:
#   ip ARGUMENTS        what ip does to undo it
#   sysctl NAME VALUE   the value before
#   dir PATH            a folder that did not exist
#   new N PATH          a file that did not exist
#   file N PATH         a file that existed; the original is $kept/N.saved
# $kept/N.ours is the text that torus-setup wrote last.
set -eu
connection=${1:-} # SSH_CONNECTION, empty if the agent is not ssh
over_cables=${2:-} # not empty: only cables lead here, also for other hosts
umask 022
home=/var/lib/torusmp
kept=$home/setup

say() { printf '@ %s\n' "$*"; }
fail() { say "failed $*"; exit 1; }

# Waits for another torus-setup on this host.
only_one() {
    mkdir -p $home
    exec 9<$home
    flock -w 20 9 || fail "another torus-setup has changed this host for 20 s: wait until it ends"
}

begin() {
    only_one
    [ -e $kept/journal ] || rm -rf $kept
    mkdir -p -m 700 $kept
    rm -f $kept/staged*
    staged=0
}

# Appends standard input to the journal: all lines or none.
note() {
    { if [ -e $kept/journal ]; then cat $kept/journal; fi; cat; } >$kept/journal.new
    sync $kept/journal.new
    mv $kept/journal.new $kept/journal
}

noted() { [ -e $kept/journal ] && grep -q "^$1" $kept/journal; }

make_folder() {
    [ -d "${1:-/}" ] && return
    make_folder "${1%/*}"
    printf 'dir %s\n' "$1" | note
    mkdir "$1"
}

# number_of PATH: of its line in the journal; empty: none.
number_of() {
    [ -e $kept/journal ] || return 0
    awk -v path="$1" '($1 == "new" || $1 == "file") && substr($0, length($1 $2) + 3) == path { print $2; exit }' \
        $kept/journal
}

# put MODE PATH: standard input becomes the file when place is called.
put() {
    path=$2
    if [ -L "$path" ]; then path=$(readlink -f "$path"); fi
    staged=$((staged + 1))
    cat >$kept/staged.$staged
    printf '%s %s %s\n' $staged "$1" "$path" >>$kept/staged
}

# setting NAME VALUE, for example net/ipv4/ip_forward 1: set when place is called. A device that is
# gone has no settings.
setting() {
    [ -e /proc/sys/$1 ] || return 0
    old=$(cat /proc/sys/$1)
    [ "$old" = "$2" ] && return
    noted "sysctl $1 " || printf 'sysctl %s %s\n' "$1" "$old" >>$kept/staged.lines
    printf '%s %s\n' "$1" "$2" >>$kept/staged.settings
}

place() {
    touch $kept/staged $kept/staged.lines $kept/staged.settings
    [ ! -s $kept/staged.lines ] || note <$kept/staged.lines
    while read -r name value; do printf '%s\n' "$value" >/proc/sys/$name; done <$kept/staged.settings
    place_files
    retire
    rm -f $kept/staged*
}

# Removes addresses, routes and files of an earlier setup that this one does not have, as where a
# plug was moved. What they replaced returns.
retire() {
    awk 'NR == FNR { if ($1 == "route") now["route del " $3]; next }
        $1 == "ip" && $2 == "route" && $3 == "del" { line = substr($0, 4); if (!(line in now)) print line }' \
        $kept/batch $kept/journal >$kept/staged.retired
    strays $kept/batch >>$kept/staged.retired
    [ ! -s $kept/staged.retired ] || ip -force -batch $kept/staged.retired 2>/dev/null || :
    cut -d' ' -f3- $kept/staged >$kept/staged.paths
    while read -r kind number path; do
        case $kind in new | file) ;; *) continue ;; esac
        if grep -Fxq -- "$path" $kept/staged.paths; then continue; fi
        restore $kind $number "$path"
    done <$kept/journal
}

# strays FILE: lines that remove the addresses of setups that are on other devices than FILE, lines
# for ip, has them. A device that gets another name keeps its addresses.
strays() {
    ip -o -4 addr show >$kept/before
    awk 'FILENAME == ARGV[1] { if ($1 == "addr") now[$3 " " $5]; next }
        FILENAME == ARGV[2] && $2 == "addr" { if ($3 == "del") ours[$4]; else now[$4 " " $6] }
        FILENAME == ARGV[2] { next }
        $4 in ours && !(($4 " " $2) in now) { print "addr del " $4 " dev " $2 }' \
        "$1" $kept/journal $kept/before
}

# restore new|file N PATH: the file becomes as it was before the first setup.
restore() {
    keep_edited $2 "$3"
    if [ $1 = new ]; then
        rm -f "$3" "$3.torusmp"
    else
        cp -p $kept/$2.saved "$3.torusmp"
        sync "$3.torusmp"
        take_place "$3"
    fi
}

# Writes all files of put: first the originals and the journal, then the texts beside their places,
# then each to its place. One sync for each of these steps, since disks are slow at it.
place_files() {
    next=1
    [ ! -e $kept/journal ] || next=$(($(wc -l <$kept/journal) + 1))
    : >$kept/staged.lines
    : >$kept/staged.writes
    originals=
    while read -r text mode path; do
        if [ -e "$path" ] && cmp -s "$path" $kept/staged.$text; then continue; fi
        number=$(number_of "$path")
        if [ -z "$number" ]; then
            make_folder "${path%/*}"
            number=$next
            next=$((next + 1))
            if [ -e "$path" ]; then
                cp -p "$path" $kept/$number.saved
                originals="$originals $kept/$number.saved"
                printf 'file %s %s\n' $number "$path" >>$kept/staged.lines
            else
                printf 'new %s %s\n' $number "$path" >>$kept/staged.lines
            fi
        fi
        printf '%s %s %s %s\n' $number $text "$mode" "$path" >>$kept/staged.writes
    done <$kept/staged
    [ -z "$originals" ] || sync $originals
    [ ! -s $kept/staged.lines ] || note <$kept/staged.lines
    new=
    while read -r number text mode path; do
        cp $kept/staged.$text $kept/$number.ours
        if [ -e "$path" ]; then
            cp -p "$path" "$path.torusmp"
            cat $kept/staged.$text >"$path.torusmp"
        else
            install -m "$mode" $kept/staged.$text "$path.torusmp"
        fi
        new="$new $path.torusmp"
    done <$kept/staged.writes
    [ -z "$new" ] || sync $new
    while read -r number text mode path; do take_place "$path"; done <$kept/staged.writes
}

# take_place PATH: PATH.torusmp becomes PATH. A file that is a mount of its own, as in containers,
# cannot be replaced, only written.
take_place() {
    mv -f "$1.torusmp" "$1" 2>/dev/null && return
    cat "$1.torusmp" >"$1"
    rm "$1.torusmp"
}

# Applies lines for ip -batch: link set, addr replace, route replace. Lines for a device that is
# gone are left out.
lay() {
    cat >$kept/lines
    { ip -o link show; ip -o -4 addr show; ip -4 route show; } >$kept/before
    # An address that exists keeps its label unless it is removed first.
    awk 'NR == FNR && $2 ~ /:$/ && $3 ~ /^</ { sub(/:$/, "", $2); sub(/@.*/, "", $2); there[$2]; next }
        NR == FNR { if ($3 == "inet") has[$4 " " $2] = $0; next }
        { device = ""; for (i = 1; i < NF; ++i) if ($i == "dev") device = $(i + 1) }
        !(device in there) { next }
        $6 == "label" && ($3 " " $5) in has && !index(has[$3 " " $5], " " $7 "\\") { print "addr del " $3 " dev " $5 }
        { print }' $kept/before $kept/lines >$kept/batch
    awk '
        NR == FNR && $2 ~ /:$/ && $3 ~ /^</ {
            name = $2; sub(/:$/, "", name); sub(/@.*/, "", name)
            up[name] = $3 ~ /[<,]UP[,>]/
            for (i = 4; i < NF; ++i) if ($i == "mtu") mtu[name] = $(i + 1)
            next
        }
        NR == FNR && $3 == "inet" { address[$4 " " $2] = 1; next }
        NR == FNR { to = $1; gsub(/ (linkdown|dead)/, ""); route[to] = $0; next }
        $1 == "link" {
            if (!up[$4]) print "ip link set dev " $4 " down"
            if ($5 == "mtu" && mtu[$4] != $6) print "ip link set dev " $4 " mtu " mtu[$4]
        }
        $1 == "addr" && $2 == "del" { print "ip addr add " $3 " dev " $5; print "ip addr del " $3 " dev " $5 }
        $1 == "addr" && !(($3 " " $5) in address) { print "ip addr del " $3 " dev " $5 }
        $1 == "route" {
            to = $3; sub(/\/32$/, "", to)
            if (!(to in route)) print "ip route del " $3
            else if (index(route[to] " ", to " via " $5 " dev " $7 " src " $9 " ") != 1) print "ip route replace " route[to]
        }' $kept/before $kept/batch | note
    ip -batch $kept/batch 2>$kept/said || fail "ip refuses to set it up: $(tr "\n" " " <$kept/said)"
}

# bring_up DEVICE...: and waits until they carry packets; a device without a cable never does.
bring_up() {
    for device; do printf 'link set dev %s up\n' "$device"; done | lay
    for tenth in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 \
                 31 32 33 34 35 36 37 38 39 40 41 42 43 44 45 46 47 48 49 50; do
        waiting=
        for device; do
            carrier=
            { read -r carrier </sys/class/net/$device/carrier; } 2>/dev/null || :
            [ "$carrier" = 1 ] || waiting=1
        done
        [ -z "$waiting" ] && break
        sleep 0.1
    done
}

# lower_others DEVICE...: takes down all other devices that an earlier step brought up.
lower_others() {
    named=" $* "
    sed -n 's/^ip link set dev \([^ ]*\) down$/\1/p' $kept/journal | while read -r device; do
        case $named in *" $device "*) ;; *) ip link set dev "$device" down 2>/dev/null || : ;; esac
    done
}

# Which service sets the network up when the host starts.
service() {
    starts() { for unit in /etc/systemd/system/*.wants/$1.service; do [ -e "$unit" ] || [ -L "$unit" ] && return; done; return 1; }
    for plan in /etc/netplan/*.yaml; do [ -e "$plan" ] && echo netplan && return; done
    if starts NetworkManager; then echo networkmanager
    elif starts systemd-networkd; then echo networkd
    elif [ -e /etc/network/interfaces ]; then echo ifupdown
    else echo none; fi
}

# look PROGRAM: what this host is. A device that carries the default route or this connection, has
# a master or is not Ethernet is not for cables of the torus.
look() {
    say "host $(uname -n)"
    say "service $(service)"
    [ -x "$1" ] || say "lacks $1"
    [ ! -e $kept/journal ] || say "journal $(wc -l <$kept/journal)"
    used=" $(ip -4 route show default; ip -6 route show default) "
    server=${connection#* }; server=${server#* }; server=${server%% *}
    [ -z "$server" ] || used="$used $(ip -o addr show to "$server" | awk '{ print "dev " $2 " " }')"
    for path in /sys/class/net/*; do
        device=${path##*/}
        type=
        { read -r type <$path/type; } 2>/dev/null || :
        [ "$type" = 1 ] || continue
        [ -e $path/bridge ] || [ -e $path/wireless ] || [ -e $path/master ] || [ -e $path/tun_flags ] && continue
        case $used in *" dev $device "*) continue ;; esac
        read -r flags <$path/flags
        if [ $((flags & 1)) = 1 ]; then say "device $device up"; else say "device $device down"; fi
    done
    { if [ -e /etc/hosts ]; then cat /etc/hosts; fi; echo .; } | sed 's/^/@ hosts /'
    interfaces=/etc/network/interfaces
    if [ -e $interfaces ] && ! grep -Eq '^[[:space:]]*source(-directory)?[[:space:]].*interfaces\.d' $interfaces; then
        { cat $interfaces; echo .; } | sed 's/^/@ interfaces /'
    fi
}

# reach ADDRESS...: which of them do not answer. A port at which nothing listens answers, too.
reach() {
    for address; do
        (
            if said=$(LC_ALL=C timeout 3 bash -c "exec 3<>/dev/tcp/$address/1" 2>&1); then exit; fi
            case $said in *refused*) ;; *) say "silent $address" ;; esac
        ) &
    done
    wait
}

# Whether the policy of a firewall drops what this host forwards. Asks without a change.
forwarding() {
    if { nft list ruleset || iptables-legacy-save; } 2>/dev/null |
        grep -Eq 'hook forward .*policy drop|^:FORWARD DROP'; then
        say "drops forwarded"
    fi
}

# Undoes the journal from its end. What fails for ip is already undone, or its device is gone.
undo() {
    only_one
    if [ ! -e $kept/journal ]; then
        rm -rf $kept
        rmdir $home 2>/dev/null || :
        say "changes 0"
        return
    fi
    tac $kept/journal >$kept/back
    sed -n 's/^ip //p' $kept/back >$kept/batch
    if [ -n "$over_cables" ]; then
        sed -n 's/^link set dev \(.*\) down$/@ stays \1/p' $kept/batch
        sed -i '/^link set dev .* down$/d' $kept/batch
    fi
    ip -force -batch $kept/batch 2>/dev/null || :
    strays /dev/null >$kept/batch
    [ ! -s $kept/batch ] || ip -force -batch $kept/batch 2>/dev/null || :
    while read -r kind first rest; do
        case $kind in
            sysctl) if [ -e /proc/sys/$first ]; then printf '%s\n' "$rest" >/proc/sys/$first; fi ;;
            new | file) restore $kind $first "$rest" ;;
            dir) rmdir "$first${rest:+ $rest}" 2>/dev/null || : ;;
        esac
    done <$kept/back
    count=$(wc -l <$kept/journal)
    rm $kept/journal
    rm -rf $kept
    rmdir $home 2>/dev/null || :
    say "changes $count"
}

# keep_edited N PATH: a file that was edited since is kept aside.
keep_edited() {
    if [ ! -e "$2" ] || [ ! -e $kept/$1.ours ]; then return; fi
    cmp -s "$2" $kept/$1.ours && return
    if [ -e $kept/$1.saved ] && cmp -s "$2" $kept/$1.saved; then return; fi
    mkdir -p $home/edited
    cp -p "$2" $home/edited/
    say "edited $2"
}
