"""The settings in the configuration files of Redis and Valkey: a name and a value on each line.

``{dir}`` stands for a directory of the test.
"""

#: Common to redis.conf of 7.0 and 8.6, and to valkey.conf.
_COMMON = """\
bind 127.0.0.1 -::1
protected-mode yes
tcp-backlog 511
timeout 0
tcp-keepalive 300
loglevel notice
databases 16
always-show-logo no
set-proc-title yes
proc-title-template "{{title}} {{listen-addr}} {{server-mode}}"
stop-writes-on-bgsave-error yes
rdbcompression yes
rdbchecksum yes
dbfilename dump.rdb
rdb-del-sync-files no
replica-serve-stale-data yes
replica-read-only yes
repl-diskless-sync yes
repl-diskless-sync-delay 5
repl-diskless-sync-max-replicas 0
repl-diskless-load disabled
repl-disable-tcp-nodelay no
replica-priority 100
acllog-max-len 128
oom-score-adj no
oom-score-adj-values 0 200 800
disable-thp yes
appendonly no
appendfilename "appendonly.aof"
appenddirname "appendonlydir"
appendfsync everysec
no-appendfsync-on-rewrite no
auto-aof-rewrite-percentage 100
auto-aof-rewrite-min-size 64mb
aof-load-truncated yes
aof-use-rdb-preamble yes
aof-timestamp-enabled no
latency-monitor-threshold 0
notify-keyspace-events ""
hash-max-listpack-entries 512
hash-max-listpack-value 64
list-max-listpack-size -2
list-compress-depth 0
set-max-intset-entries 512
zset-max-listpack-entries 128
zset-max-listpack-value 64
hll-sparse-max-bytes 3000
stream-node-max-bytes 4096
stream-node-max-entries 100
activerehashing yes
client-output-buffer-limit normal 0 0 0
client-output-buffer-limit replica 256mb 64mb 60
client-output-buffer-limit pubsub 32mb 8mb 60
hz 10
aof-rewrite-incremental-fsync yes
rdb-save-incremental-fsync yes
jemalloc-bg-thread yes
"""
_LAZY = ("eviction", "expire", "server-del", "user-del", "user-flush")


def _lazy(value: str) -> str:
    names = [f"lazyfree-lazy-{name}" for name in _LAZY]
    return "".join(f"{name} {value}\n" for name in [*names, "replica-lazy-flush"])


_REDIS = (
    f"{_COMMON}{_lazy('no')}dynamic-hz yes\nslowlog-log-slower-than 10000\nslowlog-max-len 128\n"
)

#: The file of Debian's package: in the background, with everything below /var.
DEBIAN_7_0 = f"""{_REDIS}\
daemonize yes
pidfile {{dir}}/run/redis-server.pid
logfile {{dir}}/log/redis-server.log
dir {{dir}}/lib
"""
REDIS_8_6 = f"""{_REDIS}\
daemonize no
pidfile {{dir}}/run/redis_6379.pid
logfile ""
dir ./
locale-collate ""
set-max-listpack-entries 128
set-max-listpack-value 64
"""
VALKEY_9_1 = f"""{_COMMON}{_lazy("yes")}\
daemonize no
pidfile {{dir}}/run/valkey_6379.pid
logfile ""
dir ./
locale-collate ""
set-max-listpack-entries 128
set-max-listpack-value 64
hide-user-data-from-log yes
rdb-version-check strict
dual-channel-replication-enabled no
commandlog-execution-slower-than 10000
commandlog-slow-execution-max-len 128
commandlog-request-larger-than 1048576
commandlog-large-request-max-len 128
commandlog-reply-larger-than 1048576
commandlog-large-reply-max-len 128
"""
STOCK = {"Debian 7.0": DEBIAN_7_0, "Redis 8.6": REDIS_8_6, "Valkey 9.1": VALKEY_9_1}
