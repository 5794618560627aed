"""The tables of an organisation's index in PostgreSQL, made and changed by numbered migrations.

Each runs in a transaction of its own under an advisory lock, so that two machines that set up one database do it once.  A
migration that was published is never changed: another one is added.  A schema with a number above ours was made by a newer
dayleaf and is left alone.

    workspace  one row a workspace; documents and length (terms) make N and the mean of BM25
    member     which role may read which workspace; `dayleaf.admit(role, workspace)` adds a row
    record     one row a record: what filters ask, and the file as it was loaded, with its checksum and the commit of its tree
    document   one row a section or turn; `words` holds its terms as text search does (rows.py), partitioned by workspace
    term       how many documents of a workspace hold a term; `total` the same over all, counted anew behind a load

Who reads sees the workspaces that `member` gives its role, and of these only those that `dayleaf.workspaces` names where that
setting is not empty: row-level security on every table, and the same rule in `dayleaf.search`.  That function runs as the owner,
because PostgreSQL applies a text search before a row's policy only where its operator is leakproof, and `@@` is not.
"""

from __future__ import annotations

from typing import Any, List

from memory.core import StoreError

LOCK = 0x6461796C656166  # of pg_advisory_xact_lock: "dayleaf"
PARTITIONS = 16

_FIRST = r"""
CREATE TABLE dayleaf.workspace (
    id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, key text NOT NULL UNIQUE, tokeniser bigint NOT NULL,
    documents bigint NOT NULL DEFAULT 0, length bigint NOT NULL DEFAULT 0, loaded timestamptz);
CREATE TABLE dayleaf.member (
    role text NOT NULL, workspace int NOT NULL REFERENCES dayleaf.workspace ON DELETE CASCADE, PRIMARY KEY (role, workspace));
CREATE TABLE dayleaf.record (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    workspace int NOT NULL REFERENCES dayleaf.workspace ON DELETE CASCADE,
    name text NOT NULL, known text NOT NULL, kind smallint NOT NULL, created bigint NOT NULL,
    session text NOT NULL, branch text NOT NULL, tags text[] NOT NULL,
    checksum text NOT NULL, commit text NOT NULL, mtime double precision NOT NULL, terms int NOT NULL, data bytea NOT NULL,
    UNIQUE (workspace, name));
CREATE INDEX record_known ON dayleaf.record (known);
CREATE INDEX record_created ON dayleaf.record (workspace, created DESC, id) INCLUDE (kind);
CREATE TABLE dayleaf.document (
    id bigint GENERATED ALWAYS AS IDENTITY, workspace int NOT NULL, record bigint NOT NULL, ordinal int NOT NULL,
    kind smallint NOT NULL, created bigint NOT NULL, words tsvector NOT NULL) PARTITION BY HASH (workspace);
CREATE TABLE dayleaf.term (
    workspace int NOT NULL REFERENCES dayleaf.workspace ON DELETE CASCADE, term text COLLATE "C" NOT NULL, df int NOT NULL,
    PRIMARY KEY (workspace, term)) WITH (fillfactor = 90);
CREATE TABLE dayleaf.total (term text COLLATE "C" PRIMARY KEY, df bigint NOT NULL);
CREATE INDEX total_words ON dayleaf.total ("left"(term, 1), df DESC, term)
    WHERE term !~ '[[:cntrl:][:digit:][:punct:]]';

-- Who calls, also within a function that runs as its owner.
CREATE FUNCTION dayleaf.caller() RETURNS name LANGUAGE sql STABLE AS
$$ SELECT CASE WHEN current_setting('role') IN ('none', '') THEN session_user ELSE current_setting('role')::name END $$;
CREATE FUNCTION dayleaf.allowed() RETURNS int[] LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog AS $$
    SELECT coalesce(array_agg(w.id ORDER BY w.id), '{}') FROM dayleaf.workspace w
    WHERE (coalesce(current_setting('dayleaf.workspaces', true), '') = ''
           OR w.key = ANY (string_to_array(current_setting('dayleaf.workspaces', true), ',')))
      AND (pg_has_role(dayleaf.caller(), (SELECT relowner FROM pg_class WHERE oid = 'dayleaf.workspace'::regclass), 'MEMBER')
           OR EXISTS (SELECT FROM dayleaf.member m JOIN pg_roles r ON r.rolname = m.role
                      WHERE m.workspace = w.id AND pg_has_role(dayleaf.caller(), r.oid, 'MEMBER'))) $$;

CREATE FUNCTION dayleaf.admit(role text, workspace text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE format('GRANT USAGE ON SCHEMA dayleaf TO %I', role);
    EXECUTE format('GRANT SELECT ON dayleaf.workspace, dayleaf.member, dayleaf.record, dayleaf.document, dayleaf.term, '
                   'dayleaf.migration TO %I', role);
    INSERT INTO dayleaf.member SELECT admit.role, w.id FROM dayleaf.workspace w WHERE w.key = admit.workspace OR
        admit.workspace = 'all' ON CONFLICT DO NOTHING;
    IF NOT FOUND AND NOT EXISTS (SELECT FROM dayleaf.workspace w WHERE w.key = admit.workspace OR admit.workspace = 'all') THEN
        RAISE EXCEPTION 'no workspace %', admit.workspace;
    END IF;
END $$;
REVOKE EXECUTE ON FUNCTION dayleaf.admit(text, text) FROM PUBLIC;

-- The best documents of some workspaces.  wanted: what brings candidates.  terms, weights: what ranks them.  cap: candidates.
CREATE FUNCTION dayleaf.search(spaces int[], wanted text, terms text[], weights real[], levels real[], kinds smallint[],
                               since bigint, until bigint, cap int, most int)
RETURNS TABLE (document bigint, record bigint, ordinal int, score real) LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog SET enable_seqscan = off SET jit = off AS $$
DECLARE
    mine int[] := dayleaf.allowed();
    value text;
    sieve text := '';
BEGIN
    IF NOT mine <@ spaces THEN
        mine := ARRAY(SELECT unnest(mine) INTERSECT SELECT unnest(spaces));
        IF cardinality(mine) = 0 THEN
            RETURN;
        END IF;
    END IF;
    IF cardinality(mine) = 1 THEN
        sieve := format(' AND workspace = %s', mine[1]);
    ELSIF cardinality(mine) < (SELECT count(*) FROM dayleaf.workspace) THEN
        sieve := format(' AND workspace = ANY (%L::int[])', mine);
    END IF;
    IF cardinality(kinds) > 0 THEN
        sieve := sieve || format(' AND kind = ANY (%L::smallint[])', kinds);
    END IF;
    IF since IS NOT NULL THEN
        sieve := sieve || format(' AND created >= %s', since);
    END IF;
    IF until IS NOT NULL THEN
        sieve := sieve || format(' AND created < %s', until);
    END IF;
    SELECT string_agg(format('%s * ts_rank(%L, words, %L::tsquery)', w, levels, t), ' + ') INTO value
        FROM unnest(terms, weights) AS given(t, w);
    RETURN QUERY EXECUTE format(
        'SELECT id, record, ordinal, (%s)::real FROM (
             SELECT id, record, ordinal, words FROM dayleaf.document WHERE words @@ %L::tsquery%s LIMIT %s) found
         ORDER BY 4 DESC, 1 LIMIT %s', value, wanted, sieve, cap, most);
END $$;

-- How many documents hold each term: over all workspaces from `total`, else counted over those that are asked.
CREATE FUNCTION dayleaf.frequency(spaces int[], asked text[]) RETURNS TABLE (term text, df bigint)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog AS $$
DECLARE
    mine int[] := ARRAY(SELECT unnest(dayleaf.allowed()) INTERSECT SELECT unnest(spaces));
BEGIN
    IF cardinality(mine) > 1 AND cardinality(mine) = (SELECT count(*) FROM dayleaf.workspace)
            AND EXISTS (SELECT FROM dayleaf.total) THEN
        RETURN QUERY SELECT t.term::text, t.df FROM dayleaf.total t WHERE t.term = ANY (asked);
    ELSE
        RETURN QUERY SELECT t.term::text, sum(t.df)::bigint FROM dayleaf.term t
            WHERE t.workspace = ANY (mine) AND t.term = ANY (asked) AND t.df > 0 GROUP BY 1;
    END IF;
END $$;

-- The words that start with a letter, the most common first.
CREATE FUNCTION dayleaf.vocabulary(spaces int[], start text, most int) RETURNS TABLE (term text, df bigint)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog AS $$
DECLARE
    mine int[] := ARRAY(SELECT unnest(dayleaf.allowed()) INTERSECT SELECT unnest(spaces));
BEGIN
    IF cardinality(mine) > 1 AND cardinality(mine) = (SELECT count(*) FROM dayleaf.workspace)
            AND EXISTS (SELECT FROM dayleaf.total) THEN
        RETURN QUERY SELECT t.term::text, t.df FROM dayleaf.total t
            WHERE "left"(t.term, 1) = start AND t.term !~ '[[:cntrl:][:digit:][:punct:]]'
            ORDER BY t.df DESC, t.term LIMIT most;
    ELSE
        RETURN QUERY SELECT t.term::text, sum(t.df)::bigint FROM dayleaf.term t
            WHERE t.workspace = ANY (mine) AND t.term >= start AND t.term < start || chr(1114111) AND t.df > 0
              AND t.term !~ '[[:cntrl:][:digit:][:punct:]]'
            GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT most;
    END IF;
END $$;

CREATE FUNCTION dayleaf.recount() RETURNS void LANGUAGE sql AS $$
    TRUNCATE dayleaf.total;
    INSERT INTO dayleaf.total SELECT term, sum(df) FROM dayleaf.term WHERE df > 0 GROUP BY term HAVING sum(df) > 1;
$$;
REVOKE EXECUTE ON FUNCTION dayleaf.recount() FROM PUBLIC;
"""
_SECURED = ("workspace:id", "record:workspace", "document:workspace", "term:workspace")


def _first() -> List[str]:
    """Return the statements of the first migration."""
    found = [_FIRST]
    for n in range(PARTITIONS):
        name = "dayleaf.document_%d" % n
        found += ["CREATE TABLE %s PARTITION OF dayleaf.document FOR VALUES WITH (MODULUS %d, REMAINDER %d) "
                  "WITH (toast_tuple_target = 8160)" % (name, PARTITIONS, n),
                  "CREATE INDEX ON %s USING gin (words)" % name, "CREATE INDEX ON %s (workspace)" % name,
                  "CREATE INDEX ON %s (record)" % name, "CREATE INDEX ON %s (id)" % name,
                  "ALTER TABLE %s ALTER words SET STORAGE EXTERNAL" % name,
                  "ALTER TABLE %s ENABLE ROW LEVEL SECURITY" % name]
    for row in _SECURED:
        table, _, column = row.partition(":")
        found += ["ALTER TABLE dayleaf.%s ENABLE ROW LEVEL SECURITY" % table,
                  "CREATE POLICY readers ON dayleaf.%s FOR SELECT USING (%s = ANY ((SELECT dayleaf.allowed())::int[]))" % (
                      table, column)]
    found += ["ALTER TABLE dayleaf.member ENABLE ROW LEVEL SECURITY",
              "CREATE POLICY readers ON dayleaf.member FOR SELECT USING (workspace = ANY ((SELECT dayleaf.allowed())::int[]))"]
    return found


MIGRATIONS = (_first,)
NEWEST = len(MIGRATIONS)


def version(connection: Any) -> int:
    """Return the number of a database's schema, 0 where it has none."""
    if connection.execute("SELECT to_regclass('dayleaf.migration')").fetchone()[0] is None:
        return 0
    return int(connection.execute("SELECT coalesce(max(number), 0) FROM dayleaf.migration").fetchone()[0])


def check(found: int) -> None:
    """Raise StoreError where a schema's number is not the one that this dayleaf reads."""
    if found > NEWEST:
        raise StoreError("the database was set up by a newer dayleaf (schema %d, this one knows %d); update dayleaf here" % (
            found, NEWEST))
    if found == 0:
        raise StoreError("the database holds no index of dayleaf; `dayleaf index --backend postgres --build` makes one")
    if found < NEWEST:
        raise StoreError("the database has schema %d, this dayleaf wants %d; `dayleaf index --backend postgres --build` brings "
                         "it up to date" % (found, NEWEST))


def migrate(connection: Any) -> int:
    """Bring a database's schema up to date and return how many migrations ran.

    connection: one of psycopg, in autocommit.  Raises StoreError where the schema is newer.
    """
    ran = 0
    while True:
        with connection.transaction():
            connection.execute("SELECT pg_advisory_xact_lock(%s)", (LOCK,))
            found = version(connection)
            if found >= NEWEST:
                check(found)
                return ran
            connection.execute("CREATE SCHEMA IF NOT EXISTS dayleaf")
            connection.execute("CREATE TABLE IF NOT EXISTS dayleaf.migration ("
                               "number int PRIMARY KEY, applied timestamptz NOT NULL DEFAULT now())")
            for statement in MIGRATIONS[found]():
                connection.execute(statement)
            connection.execute("INSERT INTO dayleaf.migration (number) VALUES (%s)", (found + 1,))
        ran += 1
