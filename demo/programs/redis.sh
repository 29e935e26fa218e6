#!/bin/sh
# SPDX-License-Identifier: MIT
# A redis server under its own benchmark. Debian's redis-tools has the server under another name,
# and starts no service when it is installed.
#
# usage: redis.sh REQUESTS
set -eu

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
ln -s "$(command -v redis-check-rdb)" "$folder/redis-server"
"$folder/redis-server" --port 0 --unixsocket "$folder/socket" --save '' --dir "$folder" \
    --logfile "$folder/log" &

# Only the server is on the library that is measured.
unset LD_PRELOAD
tries=0
until redis-cli -s "$folder/socket" ping 2>/dev/null | grep -q PONG; do
    tries=$((tries + 1))
    [ "$tries" -lt 200 ] || { cat "$folder/log"; exit 1; }
    sleep 0.05
done
redis-benchmark -s "$folder/socket" -q -n "$1" -r 100000 -d 120 -P 16 \
    -t set,get,lpush,hset,sadd,zadd >&2
redis-cli -s "$folder/socket" dbsize
redis-cli -s "$folder/socket" shutdown nosave
wait
