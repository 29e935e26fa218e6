# SPDX-License-Identifier: MIT
"""Parses python's own library, and prints its contents."""

import ast
import collections
import hashlib
import json
import pathlib
import sysconfig

counts = collections.Counter()
digest = hashlib.sha256()
files = sorted(pathlib.Path(sysconfig.get_path("stdlib")).glob("*.py"))
for path in files:
    tree = ast.parse(path.read_bytes())
    counts.update(type(node).__name__ for node in ast.walk(tree))
    text = json.dumps([ast.dump(each) for each in tree.body])
    digest.update(json.dumps(json.loads(text), indent=1).encode())
print(f"{len(files)} files, {sum(counts.values())} nodes: {counts.most_common(5)}")
print(digest.hexdigest())
