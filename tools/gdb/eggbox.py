# SPDX-License-Identifier: MIT
"""gdb commands for pools, in a process or in a core file. They read memory and call nothing.

    (gdb) source tools/gdb/eggbox.py
    (gdb) eggbox pools                every pool: its blocks in use, its bytes, its level
    (gdb) eggbox blocks NAME [MOST]   the blocks in use of the pools of that name
    (gdb) eggbox owner ADDRESS        the pool and the block that an address is in

The library must have debug information (-g).
"""

import gdb

LEVELS = ("default", "off", "check", "guard", "track", "passthrough", "sample")
LIVE, STATE_BITS = 1, 3  # EGB_STATE_LIVE_, and the bits that EGB_STATE_OWN_ leaves


def variable(name):
    """A variable of the library."""
    found = gdb.lookup_global_symbol(name) or gdb.lookup_static_symbol(name)
    if found is None:
        raise gdb.GdbError(f"{name} is not known here: eggbox is not in this program, or it was "
                           "built without debug information (-g)")
    return found.value()


def text(value):
    return value.string(errors="backslashreplace") or "(no name)"


def ranges(root):
    """The nodes of a tree of ranges, by address."""
    waiting, node = [], root
    while waiting or node != 0:
        while node != 0:
            waiting.append(node)
            node = node["left"]
        node = waiting.pop()
        yield node
        node = node["right"]


def chunks(control):
    kind = gdb.lookup_type("egb_chunk_")
    offset = next(int(each.bitpos) // 8 for each in kind.fields() if each.name == "range")
    for node in ranges(control["depot"]["growing"]["tree"]):
        yield (node.cast(gdb.lookup_type("char").pointer()) - offset).cast(kind.pointer())


def live(chunk):
    """The addresses of the blocks in use; None: the pool keeps no states."""
    shape = chunk["shape"]
    if shape["states"] == 0:
        return None
    count, first = int(shape["blocks"]), int(shape["first"])
    states = gdb.selected_inferior().read_memory(int(shape["states"]), count).tobytes()
    stride = int(chunk["fixed"]["stride"]) * 4
    return [first + i * stride for i in range(count) if states[i] & STATE_BITS == LIVE]


def controls():
    """The control block and the depth of every pool, parents first."""
    first = variable("egb_registry_")["controls"]
    if first == 0:
        return
    waiting = [(first["tree"]["child"], 0)]
    while waiting:
        control, depth = waiting.pop()
        if control != 0:
            waiting.append((control["tree"]["next"], depth))
            waiting.append((control["tree"]["child"], depth + 1))
            yield control, depth


def in_use(control):
    """Blocks; at level "off" those in magazines are among them."""
    growing = control["depot"]["growing"]
    all_live = [live(each) for each in chunks(control)]
    if None in all_live:
        return int(growing["in_use"]) - int(control["depot"]["blocks"])
    return sum(map(len, all_live))


class Eggbox(gdb.Command):
    """Pools of eggbox: pools, blocks, owner."""

    def __init__(self):
        super().__init__("eggbox", gdb.COMMAND_DATA, prefix=True)


class Pools(gdb.Command):
    """Lists every pool: blocks in use, bytes of a block, bytes held, level."""

    def __init__(self):
        super().__init__("eggbox pools", gdb.COMMAND_DATA)

    def invoke(self, argument, from_tty):
        print(f"{'in use':>10} {'block':>8} {'held':>12}  {'level':<12} name")
        for control, depth in controls():
            print(f"{in_use(control):>10,} {int(control['block_bytes']):>8,} "
                  f"{int(control['depot']['growing']['held']):>12,}  "
                  f"{LEVELS[int(control['level'])]:<12} {'  ' * depth}{text(control['name'])}")


class Blocks(gdb.Command):
    """Lists the blocks in use of the pools with a name: eggbox blocks NAME [MOST]."""

    def __init__(self):
        super().__init__("eggbox blocks", gdb.COMMAND_DATA)

    def invoke(self, argument, from_tty):
        words = [*gdb.string_to_argv(argument), "20"]
        if not 2 <= len(words) <= 3 or not words[1].isdecimal():
            raise gdb.GdbError("usage: eggbox blocks NAME [MOST]")
        most = int(words[1])
        pools = [control for control, _ in controls() if text(control["name"]) == words[0]]
        if not pools:
            raise gdb.GdbError(f"there is no pool with the name {words[0]}")
        for control in pools:
            lists = [live(chunk) for chunk in chunks(control)]
            if None in lists:
                raise gdb.GdbError('the pool has level "off": it does not know its blocks in use')
            blocks = [block for each in lists for block in each]
            for block in blocks[:most]:
                print(f"{block:#x}")
            print(f"{len(blocks):,} blocks in use of {int(control['block_bytes']):,} bytes")


class Owner(gdb.Command):
    """Tells which pool and block an address is in: eggbox owner ADDRESS."""

    def __init__(self):
        super().__init__("eggbox owner", gdb.COMMAND_DATA)

    def invoke(self, argument, from_tty):
        if not argument:
            raise gdb.GdbError("usage: eggbox owner ADDRESS")
        address = int(gdb.parse_and_eval(argument).cast(gdb.lookup_type("unsigned long")))
        print(self.of_pool(address) or self.of_large(address) or
              f"{address:#x} is in no memory of eggbox")

    @staticmethod
    def of_pool(address):
        for control, _ in controls():
            for chunk in chunks(control):
                start, held = int(chunk["range"]["start"]), int(chunk["range"]["bytes"])
                if start <= address < start + held:
                    return Owner.in_chunk(address, control, chunk)
        return None

    @staticmethod
    def in_chunk(address, control, chunk):
        pool = f"pool {text(control['name'])}, {int(control['block_bytes']):,} bytes a block"
        stride = int(chunk["fixed"]["stride"]) * 4
        index, inside = divmod(address - int(chunk["shape"]["first"]), stride)
        if not 0 <= index < int(chunk["shape"]["blocks"]):
            return f"{address:#x} is in no block, but in a chunk of {pool}"
        block = address - inside
        blocks = live(chunk)
        state = "" if blocks is None else ", in use" if block in blocks else ", free"
        return f"{address:#x} is byte {inside:,} of block {block:#x}{state}, of {pool}"

    @staticmethod
    def of_large(address):
        for node in ranges(variable("large_regions")):
            start, held = int(node["start"]), int(node["bytes"])
            if start <= address < start + held:
                return (f"{address:#x} is byte {address - start:,} of a large region of {held:,} "
                        f"bytes at {start:#x}")
        return None


Eggbox()
Pools()
Blocks()
Owner()
