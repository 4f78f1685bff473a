"""The format as the second verifier reads it: the vectors of the text, lines, and what the kinds hold."""

import os
import re
import unittest

import prototype
import verify
from case import MASTER, Case
from kinds import GRAMMAR, KINDS, TYPES, Grammar, Refused
from prototype import Writer, dump
from rei_log import Frontier, expand, lines, sha256, strict_json


class Vectors(Case):
    """Section 7 of the text."""

    def bare(self):
        writer = Writer(self.at("bare"), master=MASTER)
        writer.open()
        writer.append()
        writer.seal()
        return writer

    def test_keys(self):
        log = bytes(range(16))
        step = expand(MASTER, b"seg", log, 0)
        self.assertEqual(step.hex(), "1eb846ffe927baf436fa22a722139771ccf913a6b2a3298fe33aa1f71f57cb50")
        self.assertEqual(expand(step, b"tag", 0).hex(),
                         "0a902bafd7fb72d58e3a6b3ded11dec8a1d9845148f093d5854a38dd659d9ac9")
        step = expand(step, b"step", 0)
        self.assertEqual(step.hex(), "ab5c5568fa814c24ae0a84f5d541a35e19fc7b536661b7262ac616942432b83f")
        self.assertEqual(expand(step, b"tag", 1).hex(),
                         "1f3bb8764f3da2be2819e250bf256a2a179e6b2169855f45460e17f4e618df80")
        self.assertEqual(expand(MASTER, b"master", log, 0).hex(),
                         "345a3958a81f7b84be4d63f0d5070b61c291aedc71e341992e06c0d230627333")

    def test_lines_and_token(self):
        writer = self.bare()
        with open(writer.path(0), "rb") as file:
            leaves = [item[2].hex() for item in lines(file) if not isinstance(item[1], int)]
        self.assertEqual(leaves, ["92e72d5f61fcf89991ca779e218a121adaeed7aeb179f09fda3639662897c774",
                                  "eb798b4c16b24d82c733576c450bbd91076eb26f4677a8506f1b6d89223d13fc",
                                  "c8ac86579a53c5c99bf90367593e332c962d172d74dbdd1dc3cfb2fceef1c795",
                                  "bf8ea7fe84e8b3ac6ad595215537d8c5d54fdf798cdb8a2d9e896df001f19c50"])
        self.assertEqual(writer.frontier.root().hex(),
                         "452bc8b2e6e8ef404bb3adc47c194e7aee7a5f1d17c75059ebda107d8a2c3629")
        with open(os.path.join(writer.directory, "head"), "rb") as file:
            self.assertEqual(file.read().split(b"\n")[1],
                             b"d71469561ca284795a52ce4c2006eb8777b4c018f98966a9dbcd36b87ae232e4")

    def test_birth_token(self):
        with open(os.path.join(Writer(self.at("born"), master=MASTER).directory, "head"), "rb") as file:
            self.assertEqual(file.read(), (
                b'{"log":"000102030405060708090a0b0c0d0e0f","seg":-1,"e":0,"seq":-1,"h":"6e6db90080a20e2a29'
                b'effc34b0e75dd721dd394f1241b72e506196f7db7d2b90","f":0}\n'
                b"962acd92e1f14bf0f10dbab2fae0396ff94c7a9e5efebf7219d1678f3fde031d\n"))

    def test_checkpoint(self):
        self.assertEqual(self.bare().checkpoint().decode(), (
            "rei.example/node-7\n4\nRSvIsubo70BLs63EfBlOeu56Xx0Xx1BZ69oQfYosNik=\n\n"
            "\u2014 rei.example/node-7/seg/0 "
            "wrcwVYolyrd/DegzP5cyLZvnjzIEwo3kKA0T4LhP/GOsQv1edbMtjGAOdem0ipPXbgJ11vziyidUhoNrODzcVz553go=\n"))

    def test_note_of_the_standard(self):
        pub = self.keep("pub", b"example.com/foo+530d903a+AekyeRrm56hApGFkyQR4ZCbV54Id2LKaANYcrnKv3U2k")
        name, key = verify.read_pub(pub)
        value = prototype.base64.b64decode(
            "Uw2QOkn8srV1yJGh2VYRlL1Tnagv1YEq6TfXppzi2ONncAlTgK7Ztg1ERYNZXsYjOBH3mFXmRKuwHjG1Yu72IneyaQM=")
        self.assertEqual(verify.key_id(name, key), value[:4])
        self.assertTrue(verify.signed(key, b"This is an example message.\n", value[4:]))
        self.assertFalse(verify.signed(key, b"This is an example message!\n", value[4:]))

    def test_the_vector_verifies(self):
        writer = self.bare()
        report = self.verdict("incomplete", "local", ["--m0", MASTER.hex()], writer.directory)
        self.assertEqual((report["size"], report["seals_checked"]), (4, 2))
        self.found("TAG", options=["--m0", bytes(32).hex()], log=writer.directory)

    def test_tree(self):
        def root(leaves):
            if len(leaves) == 1:
                return leaves[0]
            half = 1 << (len(leaves) - 1).bit_length() - 1
            return sha256(b"\x01" + root(leaves[:half]) + root(leaves[half:]))
        tree, leaves = Frontier(), []
        self.assertEqual(tree.root(), sha256(b""))
        for size in range(1, 100):
            leaves.append(sha256(bytes([size])))
            tree.push(leaves[-1])
            self.assertEqual(tree.root(), root(leaves))


class Lines(Case):
    """One spelling of each line."""

    def test_raw_characters_stay(self):
        text = "\x7f/\u2028\u202e\U0001f600\x1b\b\f\n\r\t\0\"\\"
        for body in ({"path": text}, {"a": [[], {}, None, True]}):
            line = {"v": 1, "seg": 0, "seq": 0, "k": "x", "t": "1", "b": "1", "p": "0" * 64, "d": body}
            self.assertEqual(strict_json(dump(line)), line)
            TYPES["line"](line)

    def test_depth(self):
        line = b'{"v":1,"seg":0,"seq":0,"k":"x","t":"1","b":"1","p":"' + b"0" * 64 + b'","d":{"a":%s}}'
        strict_json(line % (b"[" * 14 + b"]" * 14))
        strict_json(line % (b'"' + b"[" * 99 + b'"'))
        with self.assertRaises(Refused):
            strict_json(line % (b"[" * 15 + b"]" * 15))


class Kinds(unittest.TestCase):
    """The grammar, and the checks that are made of it."""

    def test_it_is_the_one_of_the_text(self):
        path = os.path.join(os.path.dirname(os.path.abspath(verify.__file__)), "..", "docs", "format.md")
        with open(path, encoding="utf-8") as file:
            block = re.search("```\n(head        = .*?)```", file.read(), re.S)[1]
        self.assertEqual(GRAMMAR.strip(), block.strip())

    def test_every_kind_of_the_text_is_known(self):
        names = ("head seal run container lineage fold finding event loss clock ctl decision undecodable "
                 "anchor prune")
        self.assertEqual(KINDS, set(names.split()))

    def refused(self, kind, body, code):
        with self.assertRaises(Refused) as caught:
            TYPES[kind](body)
        self.assertEqual(caught.exception.args[0], code, body)

    def test_fields(self):
        good = {"why": "ring", "n": "3", "from": "1", "to": "2"}
        TYPES["loss"](good)
        TYPES["loss"]({"why": "ring", "kind": "open", "n": "3", "cpu": 0, "from": "1", "to": "2"})
        self.refused("loss", {**good, "more": 1}, "PARSE")
        self.refused("loss", {key: good[key] for key in ("why", "n", "from")}, "PARSE")
        self.refused("loss", {key: good[key] for key in ("n", "why", "from", "to")}, "NONCANON")
        for n in (3, "03", "-1", "+1", "", "1e3", str(2**64), "\u0663", None, True, ["3"]):
            self.refused("loss", {**good, "n": n}, "PARSE")
        self.refused("loss", {"why": "ring", "n": "3", "cpu": None, "from": "1", "to": "2"}, "PARSE")
        self.refused("loss", {"why": "ring", "n": "3", "cpu": True, "from": "1", "to": "2"}, "PARSE")

    def fold(self, **fields):
        entry = {"kind": "open", **fields, "access": ["read"], "outcome": "ok", "confidence": "checked",
                 "decision": "allowed", "by": [], "n": 2, "first": "1", "last": "2"}
        return {"node": 0, "objects": [entry]}

    def test_bytes(self):
        TYPES["fold"](self.fold())
        TYPES["fold"](self.fold(object="/etc/\u2028\x01"))
        TYPES["fold"](self.fold(object_b64="/w=="))
        TYPES["fold"](self.fold(object_b64="AA=="))  # a NUL
        self.refused("fold", self.fold(object="/etc", object_b64="/w=="), "NONCANON")
        self.refused("fold", self.fold(object_b64="YQ=="), "NONCANON")  # could have been text
        self.refused("fold", self.fold(object_b64=""), "NONCANON")
        self.refused("fold", self.fold(object="a\0"), "NONCANON")
        self.refused("fold", self.fold(object_b64="/x=="), "NONCANON")  # bits behind the end
        for value in ("/w", "/w=", "/w==\n", "_w==", "/w==/w==", "\u00ff", 1, None):
            self.refused("fold", self.fold(object_b64=value), "PARSE")
        self.refused("fold", self.fold(object=None), "PARSE")

    def test_any_bytes_in_base64(self):
        TYPES["undecodable"]({"why": "short", "bytes_b64": "YQ=="})
        self.refused("undecodable", {"why": "short", "bytes_b64": "YR=="}, "NONCANON")

    def test_words(self):
        word = TYPES["word"]
        for value in ("", "a b", {"b64": "/w=="}):
            word(value)
        for value, code in (("\0", "NONCANON"), ({"b64": "YQ=="}, "NONCANON"),
                            ({"b64": "/w==", "c": 1}, "PARSE"), ({}, "PARSE"), (["a"], "PARSE"),
                            (None, "PARSE")):
            with self.assertRaises(Refused) as caught:
                word(value)
            self.assertEqual(caught.exception.args[0], code, value)

    def test_choices(self):
        ending = Grammar("x = a:int | b:string").types["x"]
        ending({"a": 1})
        ending({"b": ""})
        for value in ({}, {"a": 1, "b": ""}, {"a": ""}, {"c": 1}, "a", None, []):
            with self.assertRaises(Refused):
                ending(value)
        end = self.fold()
        for how in ("exec", "forgotten", {"exit": {"code": 0}}, {"exit": {"signal": 9}}):
            TYPES["fold"]({**end, "end": {"at": "1", "how": how}})
        for how in ("exit", {"exec": 1}, {"exit": "code"}, {"exit": {"code": 0, "signal": 9}}):
            self.refused("fold", {**end, "end": {"at": "1", "how": how}}, "PARSE")

    def test_a_run(self):
        begin = {"command": ["true", {"b64": "/w=="}], "target": "command",
                 "policy": {"name": "p", "source": "shipped", "sha256": "0" * 64, "mode": "safe",
                            "fail_on": "tripped", "extensions": [],
                            "resolved": [{"name": "a", "addresses": ["::1"]}]},
                 "keep_events": "none", "sensors": [{"name": "s", "live": False, "reason": "r"}],
                 "never_covered": []}
        TYPES["run"]({"begin": begin})
        self.refused("run", {"begin": begin, "end": {}}, "PARSE")
        begin["policy"]["resolved"][0]["addresses"] = "::1"
        self.refused("run", {"begin": begin}, "PARSE")

    def test_it_counts_for_lines_of_a_log(self):
        seal = {"e": 0, "n": 0, "f": 0, "r": "0" * 64, "lost": "0", "tag": "0" * 64}
        TYPES["seal"](seal)
        self.refused("seal", {**seal, "g": 0}, "PARSE")
        self.refused("seal", {**seal, "r": "A" * 64}, "PARSE")
        self.refused("seal", {**seal, "tag": "0" * 65}, "PARSE")
