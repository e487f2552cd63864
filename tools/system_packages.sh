#!/bin/sh
# Debian packages that setup needs, installed only when they are missing.
#   cc, Python.h   to compile the core
#   redis-server   the oracle of server/tests/compat and the peer of bench/
#   redis-sentinel promotes replicas in tests/reliability
#   ip             makes networks of namespaces that a test can cut
#   strace         lets system calls of a real server fail, for tests/reliability
#   jq             reads what the doctor says, in a line of docs/operations.md that a test runs
#   chromium       shows the console's page to console/tests, driven by chromedriver
# Without the rights to install, say what is missing and what to do, loudly.
set -u
missing=""
command -v cc >/dev/null 2>&1 || missing="$missing gcc libc6-dev"
command -v redis-server >/dev/null 2>&1 || missing="$missing redis-server"
command -v redis-cli >/dev/null 2>&1 || missing="$missing redis-tools"
command -v redis-sentinel >/dev/null 2>&1 || missing="$missing redis-sentinel"
command -v ip >/dev/null 2>&1 || missing="$missing iproute2"
command -v strace >/dev/null 2>&1 || missing="$missing strace"
command -v jq >/dev/null 2>&1 || missing="$missing jq"
command -v chromium >/dev/null 2>&1 || missing="$missing chromium"
command -v chromedriver >/dev/null 2>&1 || missing="$missing chromium-driver"
header=$(.venv/bin/python -c 'import sysconfig; print(sysconfig.get_path("include"))')/Python.h
[ -f "$header" ] || missing="$missing python3-dev"
[ -n "$missing" ] || exit 0

root=""
[ "$(id -u)" = 0 ] || root="sudo -n"
echo "setup: missing on this machine:$missing"
# RUNLEVEL=1 keeps Debian from starting services of redis-server and redis-sentinel.
if command -v apt-get >/dev/null 2>&1 && { [ -z "$root" ] || $root true 2>/dev/null; }; then
    $root apt-get update -q &&
        $root env DEBIAN_FRONTEND=noninteractive RUNLEVEL=1 \
            apt-get install -q -y --no-install-recommends $missing && exit 0
fi
cat >&2 <<TEXT

  ****************************************************************************
  setup could not install:$missing
  Install them by hand (on Debian: apt-get install$missing).
  Without a C compiler nothing can be built; without redis-server the tests
  in server/tests/compat and server/tests/clients FAIL (they are never skipped in silence);
  without redis-sentinel those of failover in tests/reliability fail too;
  without chromium and chromedriver those of the page in console/tests fail;
  without strace some of tests/reliability are skipped, and without jq one of
  server/tests/clients; pytest says so.
  ****************************************************************************

TEXT
command -v cc >/dev/null 2>&1 && [ -f "$header" ]
