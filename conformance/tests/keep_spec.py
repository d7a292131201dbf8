"""A small specification whose operators keep files in a root, and backends for it: honest ones, and named for a sin."""

from __future__ import annotations

from pathlib import Path

from conformance.codec.codebook import codebook_of
from conformance.contract.library import Library, load_library
from conformance.tests.processes import script_backend
from conformance.tests.small_spec import TYPES, derived_by, write_spec
from conformance.vectors.case import Question
from conformance.vectors.frozen.freeze import Frozen, freeze
from conformance.vectors.questions.expand import expand

KEEP, FETCH, OPEN, ADD = (f"UML_OS.Data.{name}_v1" for name in ("Keep", "Fetch", "Open", "Add"))

_COMMON = """\
version: 1.0.0
purpose: Keep bytes in a file.
source: {seed: data-next-batch, section: "5"}
equivalence: E0
confirmed_by: [CONFIRMER]
ordering: {}
state: none
"""

KEEP_HEAD = (
    f"contract: {KEEP}\n{_COMMON}"
    """\
purity: io
inputs:
  root:    {type: root}
  name:    {type: string}
  content: {type: bytes}
outputs:
  size: {type: uint64}
  took: {type: uint64, volatile: true}
requires:
  - {id: named, that: "size(name) > 0", else: CONTRACT_VIOLATION, requirement: N01}
refuses:
  - {id: taken, code: CONTRACT_VIOLATION, when: Something stands there already., requirement: N01}
ensures:
  - {id: whole, that: "result.size == uint(size(content))", requirement: N01}
fuzz:
  limits: ["size(name) <= 200"]  # the backends below make a file of any name
bases:
  hello: {root: a, name: greetings/hello, content: "68656c6c6f"}
"""
)

_SINGLE = """\
vectors:
  - group: single
    why: A case that is there because there must be one.
    requirement: N01
"""

FETCH_TEXT = (
    f"contract: {FETCH}\n{_COMMON}"
    """\
purity: io
inputs:
  root: {type: root}
  name: {type: string}
outputs:
  content: {type: bytes}
  path:    {type: string}
requires: []
refuses:
  - {id: missing, code: CONTRACT_VIOLATION, when: There is no such file., requirement: N01}
"""
    + _SINGLE
    + "    cases: [{id: nothing, set: {root: a, name: x}}]\n"
)

OPEN_TEXT = (
    f"contract: {OPEN}\n{_COMMON}"
    """\
purity: stateful
inputs:
  root: {type: root, optional: true}
outputs:
  handle: {type: handle}
requires: []
"""
    + _SINGLE
    + "    cases: [{id: open}]\n"
)

ADD_TEXT = (
    f"contract: {ADD}\n{_COMMON}"
    """\
purity: stateful
inputs:
  handle: {type: handle}
  number: {type: uint64}
outputs:
  total: {type: uint64}
requires: []
refuses:
  - {id: unknown, code: CONTRACT_VIOLATION, when: Nobody gave the handle., requirement: N01}
"""
    + _SINGLE
    + f"""\
    trace:
      - {{step: open, call: {OPEN}}}
      - {{step: other, call: {OPEN}}}
      - {{step: one, set: {{number: 1}}, use: {{handle: open.handle}}}}
      - {{step: two, set: {{number: 2}}, use: {{handle: open.handle}}}}
      - {{step: fresh, set: {{number: 5}}, use: {{handle: other.handle}}}}
      - {{step: nobody, set: {{number: 5, handle: nobody}}}}
"""
)

TRACE = """\
vectors:
  - group: kept
    why: What is kept can be fetched.
    requirement: N01
    base: hello
    trace:
      - {put: {path: other/file, bytes: "0001"}}
      - {step: keep}
      - {tree: {}}
      - {step: again}
      - {flip: {path: greetings/hello, offset: -1, mask: 255}}
      - {restart: true}
      - {step: fetch, call: UML_OS.Data.Fetch_v1, set: {root: a, name: greetings/hello}}
      - {delete: {path: other}}
      - {tree: {path: greetings, decode: {"*": bytes}}}
"""

# Reads JSON lines; its arguments name its sins.
BACKEND = '''\
"""Keeps honestly, or sins as its arguments say."""
import glob, json, os, sys, time, urllib.parse

sins = set(sys.argv[1:])
opened = {}
taken = set()
asked = 0


def led_out(root, name):
    """Whether a path leads out of the root, for those that mind it."""
    if "\\0" in name:
        return False  # no path can have it
    path, root = os.path.join(root, name), os.path.realpath(root)
    if "minds-all" in sins:
        return not os.path.realpath(path).startswith(root + "/")
    if "minds-beginnings" in sins:
        return not os.path.realpath(path).startswith(root)
    if "minds-dots" in sins:
        return ".." in name.split("/")
    if "minds-dots-and-slash" in sins:
        return name.startswith("/") or ".." in name.split("/")
    return False


def keep(inputs):
    if "unquotes" in sins:
        inputs["root"] = urllib.parse.unquote(inputs["root"])
    if "globs" in sins and not glob.glob(inputs["root"]) or "splits" in sins and len(inputs["root"].split()) > 1:
        return refused("Keep")
    path = os.path.join(inputs["root"], inputs["name"])
    if led_out(inputs["root"], inputs["name"]):
        return refused("Keep")
    there = sorted(os.listdir(os.path.dirname(path))) if os.path.isdir(os.path.dirname(path)) else []
    near = [name for name in there if name.startswith(os.path.basename(path)) and name != os.path.basename(path)]
    if "decodes" in sins and not all(name.isprintable() for name in there):
        return refused("Keep")
    if "guesses" in sins and near:
        return refused("Keep")
    for name in near if "sweeps" in sins else []:
        os.remove(os.path.join(os.path.dirname(path), name))
    for name in near if "permits" in sins else []:
        os.chmod(os.path.join(os.path.dirname(path), name), 0o751)
    if "overwrites-empty" in sins and os.path.isfile(path) and not os.path.getsize(path):
        os.remove(path)
    if "overwrites-others" in sins and os.path.isfile(path) and os.path.basename(path) not in ("hello", "other"):
        os.remove(path)
    if not inputs["name"] or chr(0) in path or os.path.exists(path) or path in taken:
        taken.update([path] if "remembers" in sins else [])
        return refused("Keep")
    os.makedirs(os.path.dirname(path), exist_ok=True)
    content = bytes.fromhex(inputs["content"])
    if "spoils" in sins or ("spoils-later" in sins and asked > 1):
        content = content[:-1] + b"?"
    with open(path, "wb") as file:
        file.write(content)
    if "litters" in sins:
        open(os.path.join(inputs["root"], "litter"), "wb").close()
    if "strays" in sins:
        open(inputs["root"] + ".lock", "wb").close()
    if "dies" in sins:
        os._exit(7)
    if "escapes" in sins:
        os.rename(os.path.dirname(path), inputs["root"] + "-aside")
        os.symlink(inputs["root"] + "-aside", os.path.dirname(path))
    if "locks" in sins:
        os.chmod(os.path.dirname(path), 0)
    size = len(content) + ("miscounts" in sins)
    result = {"size": str(size), "took": str(time.monotonic_ns())}
    if "hurries" in sins:
        del result["took"]
    return {"result": result}


def fetch(inputs):
    try:
        with open(os.path.join(inputs["root"], inputs["name"]), "rb") as file:
            content = file.read()
    except OSError:
        return refused("Fetch")
    if "tells" in sins:
        content = inputs["root"].encode()
    told = inputs["root"] + "/" + inputs["name"] if "places" in sins else inputs["name"]
    return {"result": {"content": content.hex(), "path": told}}


def start(inputs):
    handle = f"{os.getpid()}-{time.monotonic_ns()}"
    opened[handle] = 0
    return {"result": {"handle": handle}}


def add(inputs):
    if inputs["handle"] not in opened:
        return refused("Add")
    opened[inputs["handle"]] += int(inputs["number"])
    return {"result": {"total": str(opened[inputs["handle"]])}}


def refused(name):
    data = {"failure_code": "CONTRACT_VIOLATION", "failure_operator": f"UML_OS.Data.{name}_v1"}
    return {"error": {"code": 1801, "message": "CONTRACT_VIOLATION", "data": data}}


OPERATORS = {f"UML_OS.Data.{name}_v1": call for name, call in dict(Keep=keep, Fetch=fetch, Open=start, Add=add).items()}
for line in sys.stdin:
    message = json.loads(line)
    if message["method"] == "tally.hello":
        answer = {"result": {"protocol": 1, "name": "keep", "operators": list(OPERATORS), "max_in_flight": 8}}
    elif message["method"] == "tally.bye":
        break
    else:
        asked += 1
        answer = OPERATORS[message["method"]](message["params"])
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], **answer}), flush=True)
'''


def backend(root: Path, *sins: str) -> str:
    """The backend string of a keeper with these sins."""
    return script_backend(root / "keep.py", BACKEND, *sins)


def load(root: Path, vectors: str = TRACE, *sins: str, head: str = KEEP_HEAD) -> Library:
    """Write and load the specification; its values are confirmed by a keeper with these sins, or an honest one."""
    confirmer = f'"{backend(root, *(sins or ("honest",)))}"'
    others = {f"data/{name}.yaml": text for name, text in ((FETCH, FETCH_TEXT), (OPEN, OPEN_TEXT), (ADD, ADD_TEXT))}
    files = {name: text.replace("CONFIRMER", confirmer) for name, text in others.items()}
    return load_library(
        write_spec(root, (head + vectors).replace("CONFIRMER", confirmer), {"types.yaml": TYPES, **files})
    )


def questions(root: Path, vectors: str = TRACE, head: str = KEEP_HEAD) -> tuple[Question, ...]:
    """The questions of the keeper."""
    codebook = codebook_of(load(root, vectors, head=head))
    return expand(codebook[KEEP].contract, codebook)


def frozen(root: Path, vectors: str = TRACE, confirmer: str = "", reference: str = "") -> Frozen:
    """The frozen cases of the keeper."""
    codebook = codebook_of(load(root, vectors, *confirmer.split()))
    asked = expand(codebook[KEEP].contract, codebook)
    return freeze(asked, derived_by(backend(root, *reference.split()), codebook))


def group(*steps: str) -> str:
    """The vectors of one group with these steps."""
    return TRACE.split("    trace:\n")[0] + "    trace:\n" + "".join(f"      - {step}\n" for step in steps)
