# SPDX-License-Identifier: MIT
"""The work for programs of others: real work, with the same output each time."""

SQL = """
create table orders(id integer primary key, customer text, amount real, note blob);
with recursive n(i) as (select 1 union all select i + 1 from n where i < 20000)
  insert into orders select i, 'customer ' || (i * 7919 % 500), i * 1.25, zeroblob(i % 300) from n;
create index by_customer on orders(customer, amount);
select customer, count(*), sum(amount) from orders group by customer order by 3 desc limit 5;
delete from orders where id % 3 = 0;
vacuum;
select count(*), sum(length(note)) from orders;
pragma integrity_check;
"""

PYTHON_TEXT = """
import ctypes, json, subprocess, sys, threading
words = {str(i): [i] * (i % 50) for i in range(20000)}
print(len(json.dumps(words)), sum(len(each) for each in words.values()))
sums = []
def work(n):
    sums.append(sum(len(str(i) * n) for i in range(5000)))
threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
[each.start() for each in threads]
[each.join() for each in threads]
print(sorted(sums))
libc = ctypes.CDLL(None)
libc.malloc.restype, libc.free.argtypes = ctypes.c_void_p, [ctypes.c_void_p]
blocks = [libc.malloc(ctypes.c_size_t(i * 100)) for i in range(1000)]
print(len(set(blocks)))
[libc.free(each) for each in blocks]
print(subprocess.run([sys.executable, '-c', 'print(2 ** 4000)'], capture_output=True).stdout[:50])
print(subprocess.run('echo $((6 * 7)); exit 3', shell=True, capture_output=True))
"""

PERL_TEXT = """
my %count; for my $i (1 .. 50000) { $count{"key" . ($i * 31 % 7001)} .= "x$i," }
my $all = join ";", map { "$_=" . length $count{$_} } sort keys %count;
print length($all), "\\n"; my @lines = split /;/, $all; s/key(\\d+)/<$1>/ for @lines;
print scalar(@lines), " ", $lines[100], "\\n"; print `echo from a shell`;
"""

SHELL_TEXT = """
total=0
for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
  part=$(echo $i | cat | (read n; echo $((n * n))))
  total=$((total + part))
done
echo $total; ls / | sort | head -3 | wc -l; exit 4
"""

GIT_TEXT = """
git init -q . && for i in 1 2 3 4 5 6 7 8 9 10; do
  echo "line $i" >> file; mkdir -p d$i; seq 1 $((i * 200)) > d$i/numbers; git add .
  git commit -q -m "commit $i"
done
git gc -q; git log --format='%T %s' --stat; git fsck; git diff HEAD~5 | cksum; git grep -c 42
"""

BASH_TEXT = """
declare -A seen; words=()
for i in {1..3000}; do key=k$((i * 31 % 701)); seen[$key]+=x$i,; words+=("$key"); done
for key in "${!seen[@]}"; do echo "$key ${#seen[$key]}"; done | sort | cksum
text=$(printf '%s\\n' "${words[@]}"); echo ${#text} ${text//k/<k>} | cksum
diff <(printf '%s\\n' "${words[@]:0:500}" | sort) \
  <(printf '%s\\n' "${words[@]:100:500}" | sort) | wc -l
f() { local n=$1; ((n < 2)) && { echo $n; return; }; echo $(($(f $((n - 1))) + $(f $((n - 2))))); }
f 7; mapfile -t lines < <(seq 5000); echo "${#lines[@]} ${lines[@]: -2}"; exit 5
"""

SERVER_TEXT = """
import hashlib, http.server, threading, urllib.request
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        number = int(self.path[1:])
        body = hashlib.sha256(str(number).encode()).hexdigest().encode() * (number % 500)
        self.send_response(200); self.end_headers(); self.wfile.write(body)
    def log_message(self, *words): pass
server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Handler)
threading.Thread(target=server.serve_forever, daemon=True).start()
sums = []
def ask(first):
    for number in range(first, first + 60):
        with urllib.request.urlopen(f'http://127.0.0.1:{server.server_port}/{number}') as answer:
            sums.append((number, len(answer.read())))
threads = [threading.Thread(target=ask, args=(first,)) for first in range(0, 480, 60)]
[each.start() for each in threads]; [each.join() for each in threads]
server.shutdown(); print(len(sums), hash(tuple(sorted(sums))))
"""

# redis-tools has the server under another name, and starts no service when it is installed.
REDIS_TEXT = """
ln -s "$(command -v redis-check-rdb)" redis-server
./redis-server --port 0 --unixsocket s --save '' --logfile log &
ask() { redis-cli -s s "$@"; }
tries=0
until ask ping 2> no | grep -q PONG || [ $tries -gt 999 ]; do tries=$((tries + 1)); sleep 0.05; done
ask eval "for i = 1, 20000 do redis.call('set', 'key:' .. i, string.rep('v', i % 300))
redis.call('rpush', 'list:' .. i % 50, i); redis.call('zadd', 'sorted', i * 7919 % 10007, 'm' .. i)
redis.call('hset', 'hash:' .. i % 500, 'f' .. i, i) end return redis.call('dbsize')" 0
ask lrange list:7 0 4; ask zrange sorted 100 104 withscores; ask hlen hash:17; ask strlen key:299
ask bgsave > no; until ask info persistence | grep -q rdb_bgsave_in_progress:0; do sleep 0.05; done
ask eval "for i = 1, 20000, 2 do redis.call('del', 'key:' .. i) end return redis.call('dbsize')" 0
ask debug sleep 0 > no; ask flushall async; ask dbsize; ask shutdown nosave; wait
./redis-server --port 0 --unixsocket s --logfile log --dbfilename dump.rdb &
tries=0
until ask ping 2> no | grep -q PONG || [ $tries -gt 999 ]; do tries=$((tries + 1)); sleep 0.05; done
ask dbsize; ask get key:42; ask shutdown nosave; wait
"""

MAKE_TEXT = """
for i in 1 2 3 4; do echo "int f$i(int x) { return x * $i; }" > f$i.c; done
echo 'int f1(int), f2(int), f3(int), f4(int);
int main(void) { return f1(1) + f2(2) + f3(3) + f4(4) - 30; }' > main.c
printf '%s\\n' 'all: program' '\t./program && echo right' \
  'program: main.o f1.o f2.o f3.o f4.o' '\t$(CC) -o $@ $^' > Makefile
make -s -j2 && make -n && touch f3.c && make -s -j2 && make -p -q all | grep -c '^program'
"""

ARCHIVE_TEXT = """
tar -cf - --sort=name src include docs | gzip -9 -n | gzip -d | xz -1 -T2 | xz -d | cksum
tar -cf - --sort=name src | xz -6 | xz -l - 2>&1 | wc -l
tar -cf - --sort=name src include docs | tar -tf - | sort -r | head -5
find src include -name '*.h' | xargs grep -h include | sort | uniq -c | sort -rn | head -5
"""
