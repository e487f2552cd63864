#!/bin/sh
# The first start creates /data/forebay.conf from the sample and three variables.  After that the
# file belongs to the server, because a Sentinel makes the server write its new role there.
#
#   FOREBAY_PASSWORD    the password of clients and replicas; without it, other machines are refused
#   FOREBAY_REPLICAOF   "host port": follow that server
#   FOREBAY_ANNOUNCE    the name by which others reach this server
#
# Options after the name of the image go to `forebay serve`.
set -eu
umask 077
home=${FOREBAY_HOME:-/data}
sample=${FOREBAY_SAMPLE:-/etc/forebay/forebay.conf}
conf=$home/forebay.conf

line() { # directive value: a line of the configuration, if there is a value
    [ -z "$2" ] || printf '%s %s\n' "$1" "$2"
}

if [ ! -e "$conf" ]; then
    {
        grep -v '^\(bind\|dir\|unixsocket\) ' "$sample"
        line bind '* -::*'
        line dir "$home"
        line unixsocket "$home/forebay.sock"
        line requirepass "${FOREBAY_PASSWORD:-}"
        line masterauth "${FOREBAY_PASSWORD:-}"
        line replicaof "${FOREBAY_REPLICAOF:-}"
        line replica-announce-ip "${FOREBAY_ANNOUNCE:-}"
    } >"$conf.new"
    mv "$conf.new" "$conf"
fi
exec forebay serve "$conf" "$@"
