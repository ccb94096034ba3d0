"""Local times: what import makes of a text, what a query makes of it and what ClickHouse makes of it are the same instant.

For each zone: one second before, at and after every change of the clock from 1900 to 2299, a time within every gap, and
random times. A sample of the zones, always the same; all of them where TAMBOUR_ZONES=all is set (a few minutes).
"""

import os
import random

import pytest

# 1900-01-01 and 2300-01-01 in UTC.
FIRST, END = -2208988800, 10413792000
DAY = 86400
WEEK = 7 * DAY

# Zones of which ClickHouse's release of the time zone database (2026c) tells other things than ours (2025b).
RELEASES = set(
    """
    Africa/Casablanca Africa/El_Aaiun America/Edmonton America/Ensenada America/Santa_Isabel America/Tijuana America/Vancouver America/Yellowknife
    Asia/Gaza Asia/Hebron Canada/Mountain Canada/Pacific Europe/Chisinau Europe/Tiraspol Mexico/BajaNorte
    """.split()
)

# Zones that were merged with others in the database. ClickHouse's copy is built with their own times before 1970, ours without.
MERGED = set(
    """
    Africa/Accra Africa/Addis_Ababa Africa/Asmara Africa/Asmera Africa/Bamako Africa/Bangui Africa/Banjul Africa/Blantyre Africa/Brazzaville
    Africa/Bujumbura Africa/Conakry Africa/Dakar Africa/Dar_es_Salaam Africa/Djibouti Africa/Douala Africa/Freetown Africa/Gaborone Africa/Harare
    Africa/Kampala Africa/Kigali Africa/Kinshasa Africa/Libreville Africa/Lome Africa/Luanda Africa/Lubumbashi Africa/Lusaka Africa/Malabo Africa/Maseru
    Africa/Mbabane Africa/Mogadishu Africa/Niamey Africa/Nouakchott Africa/Ouagadougou Africa/Porto-Novo Africa/Timbuktu America/Anguilla America/Antigua
    America/Aruba America/Atikokan America/Blanc-Sablon America/Cayman America/Coral_Harbour America/Creston America/Curacao America/Dominica
    America/Grenada America/Guadeloupe America/Kralendijk America/Lower_Princes America/Marigot America/Montreal America/Montserrat America/Nassau
    America/Nipigon America/Port_of_Spain America/St_Barthelemy America/St_Kitts America/St_Lucia America/St_Thomas America/St_Vincent America/Thunder_Bay
    America/Toronto America/Tortola America/Virgin Antarctica/DumontDUrville Antarctica/McMurdo Antarctica/South_Pole Antarctica/Syowa Arctic/Longyearbyen
    Asia/Aden Asia/Bahrain Asia/Brunei Asia/Kuala_Lumpur Asia/Kuwait Asia/Muscat Asia/Phnom_Penh Asia/Vientiane Atlantic/Jan_Mayen Atlantic/Reykjavik
    Atlantic/St_Helena Canada/Eastern Europe/Amsterdam Europe/Copenhagen Europe/Guernsey Europe/Jersey Europe/Ljubljana Europe/Luxembourg Europe/Monaco
    Europe/Oslo Europe/Sarajevo Europe/Skopje Europe/Stockholm Europe/Zagreb Iceland Indian/Antananarivo Indian/Christmas Indian/Cocos Indian/Comoro
    Indian/Kerguelen Indian/Mahe Indian/Mayotte Indian/Reunion Pacific/Chuuk Pacific/Funafuti Pacific/Majuro Pacific/Midway Pacific/Pohnpei Pacific/Ponape
    Pacific/Saipan Pacific/Truk Pacific/Wake Pacific/Wallis Pacific/Yap
    """.split()
)

# Always looked at: half-hour changes, gaps at midnight, changes of two hours, skipped days, odd quarters.
ALWAYS = """Europe/Berlin America/New_York Australia/Lord_Howe Asia/Tehran America/Sao_Paulo Antarctica/Troll Pacific/Apia
    Asia/Kathmandu America/St_Johns Antarctica/Casey Africa/Cairo""".split()


def zones(server):
    """The zones to look at."""
    names = [name for name in server.rows("SELECT time_zone FROM system.time_zones ORDER BY 1") if name != "Factory"]
    if os.environ.get("TAMBOUR_ZONES") == "all":
        return names
    return ALWAYS + random.Random(14).sample(names, 20)


def changes(server, zone):
    """The instants at which ClickHouse's clock of a zone changes: weeks first, then quarters of an hour, then seconds."""

    def offset(instant):
        return f"timezoneOffset(fromUnixTimestamp64Second(toInt64({instant}), '{zone}'))"

    step = WEEK
    rows = f"SELECT {FIRST - DAY} + number * {step} AS t FROM numbers({(END - FIRST) // step + 1})"
    for finer in (900, 1, 0):
        found = server.rows(f"SELECT t FROM ({rows}) WHERE {offset('t')} != {offset(f't + {step}')}")
        if not found or not finer:
            return [int(t) + 1 for t in found]
        rows = f"SELECT arrayJoin([{','.join(found)}])::Int64 + arrayJoin(range(0, {step}, {finer})) AS t"
        step = finer


def points(server, zone, rng, count, first):
    """Readings of the clock, as seconds of a day that had no zone."""
    instants = changes(server, zone)
    around = sorted({t + step for t in instants for step in (-1, 0)} | {rng.randrange(first, END) for _ in range(count)})
    found = server.rows(f"SELECT arrayJoin({around}) AS t, timezoneOffset(fromUnixTimestamp64Second(toInt64(t), '{zone}'))")
    offsets = {int(t): int(offset) for t, offset in (line.split() for line in found)}
    readings = {t + offset for t, offset in offsets.items()}
    for t in instants:
        before, after = t + offsets[t - 1], t + offsets[t]
        readings.update(reading + step for reading in (before, after) for step in (-1, 0, 1))
        if after > before:
            readings.add(rng.randrange(before, after))
    return [reading for reading in sorted(readings) if first <= reading < END]


def test_local_times(server, tambour, tmp_path):
    rng = random.Random(1)
    looked_at = 0
    for index, zone in enumerate(zones(server)):
        if zone in RELEASES:
            continue
        first = 2 * DAY if zone in MERGED else FIRST
        readings = points(server, zone, rng, 170, first)
        texts = server.rows(f"SELECT toString(fromUnixTimestamp64Second(toInt64(arrayJoin({readings})), 'UTC'))")
        source = tmp_path / f"{index}.csv"
        source.write_text("s,t\n" + "".join(f"{text},{text}\n" for text in texts))
        query = "SELECT s, toInt64(t), toString(t), toInt64(toDateTime64(s, 0, '{zone}')) FROM {table} ORDER BY s"
        read = f"file('{source}', 'CSVWithNames', 's String, t DateTime64(0, \\'{zone}\\')')"
        expected = server.rows(query.format(zone=zone, table=read))

        table = tmp_path / f"z{index}"
        create = f"CREATE TABLE z{index} (s String, t DateTime64(0, '{zone}')) ENGINE = MergeTree ORDER BY s"
        tambour.run("import", source, "--into", table, "--create", create)
        got = tambour.rows(table, query.format(zone=zone, table=f"z{index}"))
        wrong = [f"ours {ours}, ClickHouse {theirs}" for ours, theirs in zip(got, expected) if ours != theirs]
        assert len(got) == len(expected) == len(texts) and not wrong, f"{zone}: {len(wrong)}\n" + "\n".join(wrong[:20])
        looked_at += len(texts)
    assert looked_at > 10_000


@pytest.mark.parametrize("text", ["2024-03-31 02:30:00", "2024-10-27 02:30:00", "2150-07-01 12:00:00", "1900-01-01 00:00:00"])
def test_import_finds_what_a_query_asks_for(tambour, tmp_path, text):
    """The fault that there was: import and comparison disagreed in the gap of spring and from 2100 on."""
    (tmp_path / "t.csv").write_text(f"t\n{text}\n")
    create = "CREATE TABLE t (t DateTime64(0, 'Europe/Berlin')) ENGINE = MergeTree ORDER BY t"
    tambour.run("import", tmp_path / "t.csv", "--into", tmp_path / "t", "--create", create)
    asked = f"SELECT count() FROM t WHERE t = toDateTime64('{text}', 0, 'Europe/Berlin')"
    assert tambour.rows(tmp_path / "t", asked) == ["1"]


MOVED = [("Europe/Moscow", "2010-03-27"), ("Europe/Moscow", "2010-10-30"), ("Europe/Berlin", "2020-03-28"), ("Europe/Berlin", "2020-10-24"), ("Australia/Lord_Howe", "2020-10-03"), ("Australia/Lord_Howe", "2020-04-04"), ("America/New_York", "2021-03-13"), ("Asia/Tehran", "2020-03-20"), ("America/Sao_Paulo", "2017-10-14"), ("Asia/Kathmandu", "1985-12-31"), ("Africa/Cairo", "2023-04-27")]


def test_hours_begin_where_clickhouse_begins_them_when_clocks_are_moved(server, tambour):
    for zone, day in MOVED:
        moments = f"(SELECT toDateTime('{day} 00:00:00', '{zone}') + 900 * number AS t FROM numbers(250))"
        for hours in [1, 2, 3, 5, 7, 12, 24, 36]:
            query = f"SELECT groupArray(toString(toStartOfInterval(t, INTERVAL {hours} HOUR))) FROM {moments}"
            assert tambour.run("sql", query) == server.run(query), (zone, day, hours)
