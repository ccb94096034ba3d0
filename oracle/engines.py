"""Both engines, asked for many expressions over one part at once. What fails in company is asked again by halves."""

import collections
import pickle
import re
import subprocess

MARK = "=== end of an answer ==="
# Expressions in one query, and queries in one process.
WIDTH, QUERIES = 48, 40


def query(expressions, source):
    return "SELECT " + ", ".join(f"{e} AS r{i}" for i, e in enumerate(expressions)) + source


def columns(answer, count):
    """The values of each expression, from lines of fields; none if they are not as many. A single one may be several values."""
    if count == 1:
        return [answer.split("\n")[:-1]]
    rows = [line.split("\t") for line in answer.split("\n")[:-1]]
    if any(len(row) != count for row in rows):
        return None
    return [[row[i] for row in rows] for i in range(count)]


class ClickHouse:
    """ClickHouse's answers: lists of values, or the code of the error. `keep` is a directory of answers of former runs."""

    def __init__(self, server, keep=None):
        self.server, self.keep = server, keep
        self.known = {}

    def load(self, title):
        """Answers that were kept."""
        self.known = {}
        if self.keep and self._path(title).exists():
            self.known = pickle.loads(self._path(title).read_bytes())

    def save(self, title):
        if self.keep:
            self._path(title).write_bytes(pickle.dumps(self.known))

    def _path(self, title):
        return self.keep / re.sub(r"\W", lambda it: f"_{ord(it[0]):x}", title)

    def ask(self, expressions, source):
        """One answer for each expression."""
        waiting = [e for e in dict.fromkeys(expressions) if (e, source) not in self.known]
        at, width = 0, 4
        while at < len(waiting):
            some = waiting[at:at + width]
            fails = self._ask(some, source)
            at += len(some)
            width = min(2 * width, WIDTH) if not fails else max(1, width // 2)
        return [self.known[e, source] for e in expressions]

    def _ask(self, some, source):
        """Asks and remembers; true if there was a refusal."""
        try:
            found = columns(self.server.run(query(some, source)), len(some))
            found = found if found is not None or len(some) > 1 else [["fields"]]
        except (RuntimeError, UnicodeDecodeError) as error:
            found = None if len(some) > 1 else [(re.search(r"Code: (\d+)", str(error)) or ["", ""])[1]]
        if found is None:
            half = len(some) // 2
            self._ask(some[:half], source)
            self._ask(some[half:], source)
            return True
        self.known.update(((e, source), answer) for e, answer in zip(some, found))
        return isinstance(found[0], str)


class Tambour:
    """Tambour's answers: lists of values, or none where it refuses; `reasons` counts why. `words` are more options."""

    def __init__(self, binary, directory, words=()):
        self.binary, self.directory, self.words = binary, directory, words
        self.reasons = collections.Counter()

    def ask(self, expressions, source, width=WIDTH):
        answers = {}
        groups = [expressions[at:at + width] for at in range(0, len(expressions), width)]
        while groups:
            refused = []
            for at in range(0, len(groups), QUERIES):
                some = groups[at:at + QUERIES]
                for group, found in zip(some, self._answers(some, source)):
                    if found is None and len(group) > 1:
                        half = len(group) // 2
                        refused += [group[:half], group[half:]]
                    else:
                        answers.update(zip(group, found or [None]))
            groups = refused
        return [answers[e] for e in expressions]

    def _answers(self, groups, source):
        """What each query of a script answers; none where it is refused."""
        statements = [query(group, source) for group in groups]
        found, reasons = run_script(self.binary, [f"v={self.directory}", "--threads", "1", *self.words], statements)
        if all(len(group) == 1 for group in groups):
            self.reasons.update(reasons)
        answers = []
        for part, group in zip(found, groups):
            if part and part.startswith("broken: "):
                answers.append([[part]] if len(group) == 1 else None)
            else:
                answers.append(columns(part, len(group)) if part else None)
        return answers


def run_script(binary, words, statements):
    """The answers of statements, empty where one is refused, and the reasons of refusals. What ends the program is found by
    halves, and said in the place of an answer."""
    script = "".join(f"{statement};\nSELECT '{MARK}' AS r;\n" for statement in statements)
    done = binary.call("sql", *words, "--format", "TabSeparated", "--ignore-error", input=script.encode())
    parts = done.stdout.decode("utf-8", "surrogateescape").split(MARK + "\n")[:-1]
    says = done.stderr.decode(errors="replace")
    if done.returncode >= 0 and "panicked" not in says and "internal error" not in says and len(parts) == len(statements):
        return parts, re.findall(r"^error: (.*)", says, re.M)[:-1]
    if len(statements) == 1:
        return ["broken: " + says[-400:]], []
    half = len(statements) // 2
    (first, some), (second, others) = (run_script(binary, words, it) for it in (statements[:half], statements[half:]))
    return first + second, some + others


class Server:
    """ClickHouse as a library, for runs without pytest."""

    def __init__(self, path):
        from chdb import session
        self.session = session.Session(str(path))

    def run(self, sql):
        return self.session.query(sql, "TabSeparated").bytes().decode("utf-8", "surrogateescape")

    def rows(self, sql):
        return self.run(sql).splitlines()

    def directory(self, database, table):
        return self.run(f"SELECT data_paths[1] FROM system.tables WHERE database = '{database}' AND name = '{table}'").strip()


class Binary:
    """Our binary, for runs without pytest."""

    def __init__(self, path):
        self.path = path

    def call(self, *words, input=None):
        return subprocess.run([self.path, *map(str, words)], input=input, capture_output=True, check=False)
