"""What each kind of line holds: the grammar of docs/format.md, word for word, and the checks it stands for."""

import base64
import binascii
import re


class Refused(Exception):
    """A line, token or note is not what the format says; the argument is the violation's code."""


GRAMMAR = r"""
head        = log:hex16 origin:string vk:hex32 nvk:hex32 ks:hex64
              prev:{seg:int-or-null state:string last_seq?:int last_e?:int tail?:int tail_sha256?:hex32 head?:{b:string tag:string}}
              birth?:{series:hex16 i:int vk0:hex32 hk:hex32 hs:hex64} fmt?:string
              host?:{machine_id:string boot_id:string hostname:string kernel:string}
              writer?:{version:string pid:int nonce:hex16}
              params?:{batch:int delay_ms:int idle_s:int roll_bytes:int roll_s:int}
              clock?:{wall:decimal boot:decimal}
seal        = e:int n:int f:int r:hex32 lost:decimal tag:hex32
run         = begin:{command:[word] target:string
                policy:{name:string source:string sha256:hex32 mode:string fail_on:string extensions:[string]
                  resolved:[{name:string addresses:[string]}]}
                keep_events:string sensors:[{name:string live:bool reason?:string}] never_covered:[string]
                programs?:[program]}
            | end:{command?:ending exit_code:int judgement:string completeness:string
                reasons:[{kind:string text:string count?:int next_step:string}] counts:[{kind:string n:int}]
                lost:decimal lost_of_others:decimal syscalls_without_sensor:[string] findings:int findings_not_kept_apart:int}
container   = scope:decimal id?:string name?:string image?:string image_id?:string labels:[{name:string value:string}]
              argv:[string] mounts:[{kind:string source?:string destination:string read_only:bool}]
              cgroup_path?:bytes learned:{facts:string cgroup:string} programs?:[program]
lineage     = node:int parent?:int how:string process:process scope:decimal phase:string uid:int gid:int begin:decimal
              program?:bytes origin?:string script?:bytes chain?:string argv:[word] env_names:[word] confidence:string
              missing:[string] shortened?:[shortened]
fold        = node:int objects:[{kind:string object?:bytes access:[string] origin?:string outcome:string confidence:string
                decision:string by:[string] n:int first:decimal last:decimal shortened?:[shortened]}]
              end?:{at:decimal how:node-ending}
finding     = rule:{id:string by:string sha256:hex32 why:string hint?:string} sev:string conf:string container:decimal
              subject:{node:int process:process program?:bytes ancestors:[int]}
              object:{kind:string name?:bytes first?:bytes access:[string] origin?:string outcome:string shortened?:[shortened]}
              n:int first:decimal last:decimal evidence:[int] of?:int action:string
event       = kind:string kseq:{cpu:int stream:int n:decimal} at:decimal scope:decimal cgroup:decimal process:process tid:int
              ns_pid:int uid:int gid:int comm?:bytes program?:bytes phase:string hook:string confidence:string outcome:string
              flags:[string] cut:[string] unreadable:[string] act:act
              file?:{origin:string fs:string dev:string ino:decimal mode:string rdev?:string overlay?:string flags:[string]}
              verdict?:{trips:[{wire:string why:string attempted?:string hint?:string}] ground?:{kind:string name?:string}
                decision?:string rule?:string note?:string severity?:string}
              shortened?:[shortened]
loss        = why:string kind?:string n:decimal cpu?:int from:decimal to:decimal
clock       = old:decimal new:decimal source:string
ctl         = what:string scope?:decimal text:string
decision    = tool:string args:string approved:bool hazard_level:string rule_name:string note?:string policy_sha256?:hex32
undecodable = why:string bytes_b64:base64
anchor      = size:int root:hex32 sink:string receipt:string ok:bool
prune       = upto_seg:int size:int last_h:hex32 frontier:[hex32] why:string

process     = pid:int start:decimal
program     = rule:string declared:string name?:bytes path?:bytes read_from:string sha256?:hex32 fault?:string
shortened   = field:string len:int sha256:hex32
ending      = code:int | signal:int
node-ending = "exec" | exit:ending | "recording" | "forgotten"
named       = path?:bytes access:[string] requested?:bytes requested_entry?:bytes lexical:bool
act         = open:named
            | contact:{family:string socket_type?:string protocol?:string address?:bytes source?:string}
            | exec:{name:named argv:[word] argc:int env_names:[word]
                script?:{path?:bytes confidence:string interpreter?:bytes} chain?:string parent:process
                euid:int egid:int mnt_ns:decimal pid_ns:decimal}
            | exec_attempt:{name:named check:bool}
            | fork:{child:process child_ns_pid:int child_cgroup:decimal}
            | exit:ending
            | cgroup:{path?:bytes id:decimal parent:decimal new_scope:bool}
            | moved:{what?:string to_cgroup:decimal mover_pid:int}
"""

# The envelope and the head token, which the text describes in its own words.
FRAMES = """
line        = v:int seg:int seq:int k:string t:decimal b:decimal p:hex32 d:object
token       = log:hex16 seg:int e:int seq:int h:hex32 f:int
"""


def demand(good, code="PARSE"):
    if not good:
        raise Refused(code)


def is_a(kind):
    """The check for a JSON type. Python's bool is an int, so types are compared and not classes."""
    return lambda value: demand(type(value) is kind)


def pattern(form):
    form = re.compile(form)
    return lambda value: demand(type(value) is str and form.fullmatch(value) is not None)


def decimal(value):
    demand(type(value) is str and re.fullmatch("0|[1-9][0-9]{0,19}", value) is not None)
    demand(int(value) < 2**64)


def int_or_null(value):
    demand(value is None or type(value) is int)


def plain(value):
    """Bytes that are text: a string without NUL."""
    demand(type(value) is str)
    demand("\0" not in value, "NONCANON")


def unpack(value):
    """The bytes of padded base64 in its one spelling."""
    demand(type(value) is str)
    try:
        raw = base64.b64decode(value, validate=True)
    except (binascii.Error, ValueError) as error:
        raise Refused("PARSE") from error
    demand(base64.b64encode(raw).decode() == value, "NONCANON")
    return raw


def packed(value):
    """Bytes that are no text."""
    raw = unpack(value)
    try:
        raw.decode("utf-8")
    except UnicodeDecodeError:
        return
    demand(b"\0" in raw, "NONCANON")


def word(value):
    if type(value) is dict:
        demand(list(value) == ["b64"])
        packed(value["b64"])
    else:
        plain(value)


def array(element):
    def check(value):
        demand(type(value) is list)
        for each in value:
            element(each)
    return check


def record(fields):
    """An object with these (name, may be absent, check), in this order. Bytes go by either of two names."""
    def check(value):
        demand(type(value) is dict)
        order = []
        for name, optional, inner in fields:
            if inner is plain and name + "_b64" in value:
                demand(name not in value, "NONCANON")
                name, inner = name + "_b64", packed
            if name in value:
                order.append(name)
                inner(value[name])
            else:
                demand(optional)
        demand(len(order) == len(value))
        demand(order == list(value), "NONCANON")
    return check


def choice(branches):
    """One of some words, or an object with exactly one of some keys."""
    def check(value):
        demand(type(value) in (str, dict))
        key = value if type(value) is str else next(iter(value), None)
        inner = branches.get((type(value), key))
        demand(inner is not None)
        inner(value)
    return check


class Grammar:
    """Reads `name = body`, where a body is fields, or branches between `|`."""

    def __init__(self, text):
        self.words = re.findall(r'"[^"]*"|[\w-]+|[^\s\w]', text)
        self.types = {"string": is_a(str), "int": is_a(int), "bool": is_a(bool), "object": is_a(dict),
                      "decimal": decimal, "int-or-null": int_or_null, "bytes": plain, "word": word,
                      "base64": unpack}
        for size in (16, 32, 64):
            self.types[f"hex{size}"] = pattern("[0-9a-f]{%d}" % (2 * size))
        while self.words:
            name = self.words.pop(0)
            self.expect("=")
            self.types[name] = self.body()

    def expect(self, mark):
        found = self.words.pop(0)
        assert found == mark, f"the grammar has {found!r} in the place of {mark!r}"

    def body(self):
        branches = [self.branch()]
        while self.words[:1] == ["|"]:
            self.words.pop(0)
            branches.append(self.branch())
        if len(branches) == 1:
            return record(branches[0])
        table = {}
        for branch in branches:
            if isinstance(branch, str):
                table[str, branch] = is_a(str)
            else:
                assert len(branch) == 1, "a branch has one key"
                table[dict, branch[0][0]] = record(branch)
        return choice(table)

    def branch(self):
        if self.words[0].startswith('"'):
            return self.words.pop(0)[1:-1]
        fields = []
        while len(self.words) > 1 and self.words[1] in ":?":
            name, optional = self.words.pop(0), self.words[0] == "?"
            if optional:
                self.words.pop(0)
            self.expect(":")
            fields.append((name, optional, self.type()))
        return fields

    def type(self):
        first = self.words.pop(0)
        if first == "[":
            inner = array(self.type())
            self.expect("]")
        elif first == "{":
            inner = self.body()
            self.expect("}")
        else:
            inner = self.types.get(first) or (lambda value: self.types[first](value))
        return inner


KINDS = Grammar(GRAMMAR.partition("\n\n")[0]).types.keys() - Grammar("").types.keys()
TYPES = Grammar(FRAMES + GRAMMAR).types
