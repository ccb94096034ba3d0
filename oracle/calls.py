"""Calls of every function, operator, cast and aggregate, over every tuple of argument types that ClickHouse takes, and how
both engines answer them over one part.

`calls.py --only 'array.*' --piece 0/4` compares some of them and prints each call whose answers differ. What Tambour refuses is
counted and is no failure. The full run (`cargo xtask oracle`) is `test_functions.py` with `FUNCTIONS_FULL=1`.
"""

import argparse
import collections
import concurrent.futures
import itertools
import math
import os
import pathlib
import random
import re
import sys
import tempfile

from engines import Binary, ClickHouse, Server, Tambour
from values import COLUMNS, CONSTANTS, SEED, make_table, type_of

# Floats are equal within the first of each other, or within the second near zero.
TOLERANCE, NOISE = 1e-9, 1e-14
LAMBDAS = ["x -> x > 1", "x -> x + 1", "x -> -x", "x -> toString(x)", "x -> x = 'a'"]

# Random, of the moment, of the server, about how a query runs, or any of several: there is nothing to compare.
LEFT_OUT = re.compile(
    r"^rand|^generate|^now|^localtimestamp$|^today$|^yesterday$|^uptime$|^version$|^sleep|hostName|currentDatabase|currentUser|^queryID|"
    r"^block|rowNumber|runningDifference|runningAccumulate|neighbor|^file|throwIf|^timezone$|serverTimezone|buildId|"
    r"tcpPort|multiMatchAnyIndex|getSetting|Shuffle|Sample|toTypeName|^dump|^ignore$|fuzz|obfuscate|^arrayJoin$|current_|UTCTimestamp")
# Samples and sketches that ClickHouse fills in an order of its own; what Tambour answers exactly on purpose.
LEFT_OUT_AGGREGATES = re.compile(r"quantile(?!Exact)|^median(?!Exact)|^lttb|^sparkbar")

# The closed table of differences (docs/functions.md): sums of wide integers and decimals of large floats wrap around in ClickHouse; decimals are divided to
# other digits.
CLOSED = re.compile(
    r"toDecimal\d+OrDefault\((f32|[iu]\d+)\b|"
    r"divide\(dec|dec\d* / |sum\w*(\([^()]*\))?\((i128|u256)\b|(avg|sumCount)\w*(\([^()]*\))?\((i64|u64|i128|u256)\b|arrayAvg\((.*, )?ai|"
    r"avgWeighted\w*\((i\d+|ni|-\d+), (u\d+|b|true|\d+)[,)]")
# Wide integers of which ClickHouse's sketches take several for one.
CONFUSED = re.compile(r"uniq(?!Exact|UpTo)\w*(\([^()]*\))?\(.*(i128|u256)")
# Aggregates that give values in the order of a hash table, and the parameters with which they give all of them; those that take
# any of equal values, as 0 and -0 are.
UNORDERED = {"groupUniqArray": ["", "(100)"], "topK": ["(100)"], "topKWeighted": ["(100)"], "approx_top_k": ["(100)"],
             "approx_top_sum": ["(100)"]}
ANY_ZERO = re.compile(r"quantileExact|toLowCardinality|groupArraySorted|topK|approx_top|groupUniqArray|greatest|least")

# Powers past all floats are inf, -inf or another number near the greatest float at random in ClickHouse.
PAST_FLOATS = re.compile(r"pow\(")
NEARLY_PAST = 1e307
# The root of what rounding leaves of zero (ADR 32).
ROOT_OF_NOISE = re.compile(r"cramersVBiasCorrected")
# What is a float of whatever it is given.
FLOATS = re.compile(r"((covar|corr|var|stddev)(Pop|Samp)?\w*|sinh|cosh|exp\d*|pow|tgamma|regr_\w+|exponentialMovingAverage\w*|(student|welch)TTest\w*)\(")

OPERATORS = ["+", "-", "*", "/", "%", "=", "!=", "<", "<=", ">", ">=", "AND", "OR", "XOR", "DIV", "LIKE", "IN", "||", "IS DISTINCT FROM"]
PREFIXES = ["-", "NOT "]
CASTS = ["UInt8", "UInt16", "UInt32", "UInt64", "Int8", "Int16", "Int32", "Int64", "UInt128", "Int256", "Float32", "Float64", "String",
         "FixedString(8)", "Date", "Date32", "DateTime('UTC')", "DateTime('Asia/Tokyo')", "DateTime64(6, 'UTC')", "Decimal(18, 4)",
         "Decimal(38, 1)", "Bool", "UUID", "IPv4", "IPv6", "Array(String)", "Array(Int32)", "Map(String, String)",
         "LowCardinality(String)", "Nullable(String)", "Nullable(Int32)", "Nullable(Float64)", "Nullable(Date)",
         "Enum8('a' = 1, 'b' = 2, '' = -3)", "Tuple(UInt16, String)"]
PARAMETERS = ["", "(2)", "(0.3)", "(0.25, 0.75)", "(',')", "(10, 100)"]
COMBINATORS = ["If", "Distinct", "OrNull", "OrDefault", "Array", "ForEach", "Map"]
# In groups of rows, so that no group is empty: what there is of no rows is a difference on purpose.
ROWWISE, GROUPED = " FROM v ORDER BY id", " FROM v GROUP BY id % 4 ORDER BY id % 4"
THREES = ["s", "z", "url", "js", "u8", "i64", "f64", "as", "au", "d", "dt", "ns", "ni", "dt64", "dec", "lc", *CONSTANTS]
# One of each family: what takes none of them beside it, takes nothing.
FAMILIES = ["u8", "i32", "f64", "z", "ns", "d", "dt", "dt64", "dec", "au", "as", "aa", "m", "uuid", "ip4", "e8", "t", "b", "1", "'a'", "'day'", "INTERVAL 2 HOUR"]
WRONG_COUNT = {"34", "35", "42"}
TRIES = 300


def same(ours, theirs, any_zero=False, floats=False):
    """Equal but for the last digits of floats, and for the sign of zeros if it does not count. `floats`: there are no others,
    also where they have no point."""
    if any_zero:
        ours, theirs = (re.sub(r"(?<![\w.])-0(?![\w.])", "0", it) for it in (ours, theirs))
    if ours == theirs:
        return True
    cut = re.compile(r"[-+]?(?:nan|inf|\d+\.?\d*(?:e[-+]?\d+)?)")
    if cut.sub("#", ours) != cut.sub("#", theirs):
        return False
    for a, b in zip(cut.findall(ours), cut.findall(theirs)):
        if a == b:
            continue
        # Large floats are written without a point, and have 17 digits before their zeros.
        is_large = all(len(it) > 17 and it.lstrip("-")[17:].strip("0") == "" for it in (a, b))
        if "." not in a + b and "e" not in a + b and "n" not in a + b and not is_large and not floats:
            return False
        x, y = float(a), float(b)
        if not (x == y or math.isnan(x) and math.isnan(y) or math.isclose(x, y, rel_tol=TOLERANCE, abs_tol=NOISE)):
            return False
    return True


class Subject:
    """What is asked about one name: the questions that ClickHouse answers, with its answers. `most` is how many questions of a
    kind there are at most, picked at random."""

    def __init__(self, clickhouse, name, source=ROWWISE, most=None):
        self.clickhouse, self.name, self.source, self.most = clickhouse, name, source, most
        self.pick = random.Random(f"{SEED} {name}")
        self.answers, self.tuples = {}, set()

    def ask(self, questions):
        """Takes pairs of expressions and their arguments; gives the arguments that ClickHouse takes, and the codes of errors."""
        questions = [question for question in questions if not CLOSED.match(question[0]) and not CONFUSED.match(question[0])]
        if self.most and len(questions) > self.most:
            questions = self.pick.sample(questions, self.most)
        taken, codes = [], set()
        found = self.clickhouse.ask([expression for expression, _ in questions], self.source)
        for (expression, arguments), answer in zip(questions, found):
            if isinstance(answer, str):
                codes.add(answer)
                continue
            self.answers[expression] = answer
            self.tuples.add(tuple(map(type_of, arguments)))
            taken.append(arguments)
        return taken, codes

    def call(self, template, tuples):
        return self.ask((template.format(", ".join(arguments)), arguments) for arguments in tuples)

    def takes(self, template, count):
        """False if every one of some calls has the wrong number of arguments."""
        is_short = self.most is not None and self.most < len(FAMILIES)
        probes = [self.pick.choices([*COLUMNS, *CONSTANTS], k=count) for _ in range(2 if is_short else 12)]
        taken, codes = self.call(template, probes)
        return bool(taken or codes - WRONG_COUNT)

    def calls(self, template, counts=(0, 1, 2, 3, 4)):
        """Calls with columns and constants; the place of the arguments is `{}`."""
        anything = [*COLUMNS, *CONSTANTS]
        if 0 in counts:
            self.call(template, [()])
        if 1 in counts and self.takes(template, 1):
            self.call(template, [(argument,) for argument in anything])
        if 2 in counts and self.takes(template, 2):
            self.pairs(template, anything)
        if 3 in counts and self.takes(template, 3):
            self.triples(template)
        if 4 in counts and self.takes(template, 4):
            self.longer(template)

    def pairs(self, template, anything):
        """All pairs of what takes one of each family beside it."""
        if self.most:
            self.call(template, itertools.product(anything, anything))
            return
        taken, _ = self.call(template, itertools.chain(itertools.product(anything, FAMILIES), itertools.product(FAMILIES, anything)))
        left, right = {a: None for a, _ in taken}, {b: None for _, b in taken}
        self.call(template, itertools.product(left, right))

    def triples(self, template):
        """Tries some triples, and all of what each place was seen to take."""
        tries = TRIES if not self.most else self.most
        taken, _ = self.call(template, [self.pick.choices(THREES, k=3) for _ in range(tries)])
        if not taken:
            return
        first = taken[0]
        taken += self.call(template, ([*first[:i], a, *first[i + 1:]] for i, a in itertools.product(range(3), THREES)))[0]
        places = [dict.fromkeys(triple[i] for triple in taken) for i in range(3)]
        triples = list(itertools.product(*places))
        self.call(template, self.pick.sample(triples, min(len(triples), 5 * tries)))

    def longer(self, template):
        """More arguments after those of calls that were taken."""
        taken = [()]
        for count in range(1, 8):
            tries = [[*self.pick.choice(taken), self.pick.choice(THREES)] for _ in range(TRIES if not self.most else self.most)]
            found, _ = self.call(template, tries)
            # What takes no three arguments may take four.
            taken = found or ([self.pick.choices(THREES, k=count) for _ in range(20)] if count < 4 else [])
            if not taken:
                return


def scalar(clickhouse, name, most):
    subject = Subject(clickhouse, name, most=most)
    subject.calls(name + "({})")
    if name.startswith(("array", "map")):
        subject.call(name + "({})", itertools.product(LAMBDAS, ["au", "ai", "af", "as", "an"]))
        subject.call(name + "({})", [("(x, y) -> x > y", array, array) for array in ("au", "as")])
    return subject


def operator(clickhouse, symbol, most):
    subject = Subject(clickhouse, f"operator {symbol.strip()}", most=most)
    anything = [*COLUMNS, *CONSTANTS, "INTERVAL 3 DAY", "'2020-01-05'"]
    if symbol in PREFIXES:
        subject.ask((f"{symbol}({argument})", [argument]) for argument in anything)
        return subject

    def question(left, right):
        right_side = f"({right}, {right})" if symbol == "IN" and right not in COLUMNS else right
        return f"{left} {symbol} {right_side}", [left, right]

    subject.ask(itertools.starmap(question, itertools.product(anything, anything)))
    return subject


def conversion(clickhouse, kind, most):
    subject = Subject(clickhouse, f"CAST to {kind}", most=most)
    for form in ("CAST({} AS {})", "{}::{}"):
        subject.ask((form.format(argument, kind), [argument]) for argument in [*COLUMNS, *CONSTANTS])
    return subject


def aggregate(clickhouse, name, most):
    subject = Subject(clickhouse, f"aggregate {name}", GROUPED, most)
    for parameters in UNORDERED.get(name, PARAMETERS):
        call = f"{name}{parameters}({{}})"
        subject.calls(f"arraySort({call})" if name in UNORDERED else call, (0, 1, 2))
    plain = [expression for expression in subject.answers if subject.pick.random() < 0.2 and name not in UNORDERED]
    for combinator in COMBINATORS:
        questions = []
        for expression in plain:
            function, arguments = re.fullmatch(r"(\w+)(.*\))", expression).groups()
            condition = (", " if not arguments.endswith("()") else "") + "u8 > 3" if combinator == "If" else ""
            questions.append((f"{function}{combinator}{arguments[:-1]}{condition})", [combinator]))
        subject.ask(questions)
    return subject


def names(engine):
    """Names of functions with whether they are aggregates."""
    columns = "name, is_aggregate, case_insensitive"
    return [row.split("\t") for row in engine.rows(f"SELECT {columns} FROM system.functions WHERE alias_to = '' ORDER BY name")]


def known(tambour):
    """Names that Tambour has, in its own letters and in small ones."""
    answer = tambour.call("sql", "--format", "TabSeparated", "SELECT name FROM system.functions").stdout.decode()
    return {spelled for name in answer.split("\n") for spelled in (name, name.lower())}


def everything(server, tambour):
    """Titles, makers and names of subjects."""
    ours = known(tambour)
    for name, is_aggregate, any_case in names(server):
        if LEFT_OUT.search(name) or not (name in ours or any_case == "1" and name.lower() in ours):
            continue
        if is_aggregate == "1" and not LEFT_OUT_AGGREGATES.search(name):
            yield f"aggregate {name}", aggregate, name
        elif is_aggregate == "0":
            yield name, scalar, name
    for symbol in [*OPERATORS, *PREFIXES]:
        yield f"operator {symbol.strip()}", operator, symbol
    for kind in CASTS:
        yield f"CAST to {kind}", conversion, kind


def differences(subject, answers):
    """Counts of equal values and of refused calls, and the calls that differ, with rows of both."""
    equal, refused, different = 0, 0, []
    for (expression, theirs), ours in zip(subject.answers.items(), answers):
        if ours is None:
            refused += 1
            continue
        any_zero, floats = bool(ANY_ZERO.search(expression)), bool(FLOATS.match(expression))
        rows = [(a, b) for a, b in itertools.zip_longest(ours, theirs) if a is None or b is None or not same(a, b, any_zero, floats)]
        if PAST_FLOATS.match(expression):
            rows = [row for row in rows if row[0] not in ("inf", "-inf") or row[1] in (None, "nan") or abs(float(row[1])) < NEARLY_PAST]
        if ROOT_OF_NOISE.match(expression):
            rows = [row for row in rows if row[0] != "0" or row[1] is None or not 0 < float(row[1]) < math.sqrt(NOISE)]
        if rows:
            different.append((expression, rows[:2]))
        else:
            equal += len(theirs)
    return equal, refused, different


class Outcome:
    """What a run compared."""

    def __init__(self):
        self.counts, self.different, self.refused = collections.Counter(), [], {}

    def add(self, subject, counted):
        equal, refused, different = counted
        answered = bool(equal or different)
        self.counts.update(names=answered, tuples=len(subject.tuples) if answered else 0, calls=len(subject.answers),
                           values=equal, refused=refused, different=len(different))
        if refused:
            self.refused[subject.name] = refused
        self.different += different

    def __str__(self):
        c = self.counts
        refused = ", ".join(f"{name} {count}" for name, count in sorted(self.refused.items(), key=lambda it: -it[1]))
        return (f"refused calls by function: {refused}\n{c['names']} functions, operators, casts and aggregates × types = "
                f"{c['tuples']} tuples; {c['calls']} calls of which {c['refused']} are refused; {c['values']} equal values; "
                f"{c['different']} calls differ")


def compare(server, tambour, only="", piece="0/1", most=None, report=None, keep=None):
    """Compares all that has a name like `only`; `piece` is `index/count`. ClickHouse and Tambour work at the same time."""
    outcome, clickhouse = Outcome(), ClickHouse(server, keep)
    index, count = map(int, piece.split("/"))
    chosen = [entry for entry in everything(server, tambour.binary) if re.search(only, entry[0])][index::count]

    def answer(subject):
        tambour.reasons.clear()
        counted = differences(subject, tambour.ask(list(subject.answers), subject.source))
        return counted, tambour.reasons.most_common(3)

    with concurrent.futures.ThreadPoolExecutor(1) as worker:
        waiting = None
        for entry in [*chosen, None]:
            subject = None
            if entry:
                title, make, word = entry
                clickhouse.load(title)
                subject = make(clickhouse, word, most)
                clickhouse.save(title)
            if waiting:
                counted, reasons = waiting[1].result()
                outcome.add(waiting[0], counted)
                if report:
                    report(waiting[0], counted, reasons)
            waiting = (subject, worker.submit(answer, subject)) if subject else None
    return outcome


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="")
    parser.add_argument("--piece", default="0/1")
    parser.add_argument("--most", type=int, help="calls of a kind at most")
    parser.add_argument("--seed", type=int, default=SEED, help="of the values")
    parser.add_argument("--bytes", action="store_true", help="texts that are not UTF-8, and `--strings binary`")
    parser.add_argument("--columns", default="", help="those with a name like this alone")
    parser.add_argument("--keep", type=pathlib.Path, help="a directory that keeps ClickHouse's answers for the next run")
    parser.add_argument("--tambour", default=os.environ.get("TAMBOUR"))
    arguments = parser.parse_args()

    def report(subject, counted, reasons):
        equal, refused, different = counted
        print(f"{subject.name}: {len(subject.answers)} calls, {equal} values, {refused} refused, {len(different)} differ", flush=True)
        for reason, count in reasons:
            print(f"    {count} × {reason[:150]}")
        for expression, rows in different:
            print("   ", expression, rows, flush=True)

    with tempfile.TemporaryDirectory() as directory:
        server = Server(pathlib.Path(directory) / "clickhouse")
        table = make_table(server, arguments.seed, arguments.bytes)
        for name in [name for name in COLUMNS if not re.search(arguments.columns, name)]:
            del COLUMNS[name]
        if arguments.keep:
            arguments.keep.mkdir(exist_ok=True)
        tambour = Tambour(Binary(arguments.tambour), table, ["--strings", "binary"] if arguments.bytes else [])
        outcome = compare(server, tambour, arguments.only, arguments.piece, arguments.most, report, arguments.keep)
    print(outcome)
    return 1 if outcome.different else 0


if __name__ == "__main__":
    sys.exit(main())
