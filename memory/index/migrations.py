"""The tables of an organisation's index in PostgreSQL, made and changed by numbered migrations.

Each runs in a transaction of its own under an advisory lock, so that two machines that set up one database do it once.  A
migration that was published is never changed: another one is added.  A schema with a number above ours was made by a newer
dayleaf and is left alone.

    workspace  one row a workspace; documents and length (terms) make N and the mean of BM25
    member     which role may read which workspace; `dayleaf.admit(role, workspace)` adds a row
    record     one row a record: what filters ask, and the file as it was loaded, with its checksum and the commit of its tree
    document   one row a section or turn; `words` holds its terms as text search does (rows.py), partitioned by workspace
    term       how many documents of a workspace hold a term; `total` the same over all, counted anew behind a load
    chunk      one row a vector: its section, its signs as bits, int8 numbers and their scale (vectorfile.py), and where there is
               pgvector the numbers as a `halfvec` too, which `dayleaf.arm` adds; a workspace's label names their model

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


_VECTORS = r"""
ALTER TABLE dayleaf.workspace ADD COLUMN label text NOT NULL DEFAULT '', ADD COLUMN dims int NOT NULL DEFAULT 0,
    ADD COLUMN chunks bigint NOT NULL DEFAULT 0;
CREATE TABLE dayleaf.chunk (
    workspace int NOT NULL REFERENCES dayleaf.workspace ON DELETE CASCADE,
    record bigint NOT NULL REFERENCES dayleaf.record ON DELETE CASCADE,
    ordinal int NOT NULL, dims int NOT NULL, scale real NOT NULL CHECK (scale > 0 AND scale < 'infinity'),
    code bit varying NOT NULL, numbers bytea NOT NULL);
CREATE INDEX chunk_workspace ON dayleaf.chunk (workspace);
CREATE INDEX chunk_record ON dayleaf.chunk (record);
ALTER TABLE dayleaf.chunk ALTER numbers SET STORAGE EXTERNAL;
ALTER TABLE dayleaf.chunk ENABLE ROW LEVEL SECURITY;
CREATE POLICY readers ON dayleaf.chunk FOR SELECT USING (workspace = ANY ((SELECT dayleaf.allowed())::int[]));
DO $$ DECLARE given text; BEGIN
    FOR given IN SELECT DISTINCT m.role FROM dayleaf.member m JOIN pg_roles r ON r.rolname = m.role LOOP
        EXECUTE format('GRANT SELECT ON dayleaf.chunk TO %I', given);
    END LOOP;
END $$;
CREATE OR REPLACE FUNCTION dayleaf.admit(role text, workspace text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE format('GRANT USAGE ON SCHEMA dayleaf TO %I', role);
    EXECUTE format('GRANT SELECT ON dayleaf.workspace, dayleaf.member, dayleaf.record, dayleaf.document, dayleaf.term, '
                   'dayleaf.chunk, dayleaf.migration TO %I', role);
    INSERT INTO dayleaf.member SELECT admit.role, w.id FROM dayleaf.workspace w WHERE w.key = admit.workspace OR
        admit.workspace = 'all' ON CONFLICT DO NOTHING;
    IF NOT FOUND AND NOT EXISTS (SELECT FROM dayleaf.workspace w WHERE w.key = admit.workspace OR admit.workspace = 'all') THEN
        RAISE EXCEPTION 'no workspace %', admit.workspace;
    END IF;
END $$;

-- Where pgvector stands, "" where it does not: the schema of its extension.
CREATE FUNCTION dayleaf.pgvector() RETURNS text LANGUAGE sql STABLE SET search_path = pg_catalog AS $$
    SELECT coalesce((SELECT n.nspname::text FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace
        WHERE e.extname = 'vector' AND EXISTS (SELECT FROM pg_type t WHERE t.typnamespace = n.oid AND t.typname = 'halfvec')
          AND EXISTS (SELECT FROM pg_attribute a WHERE a.attrelid = 'dayleaf.chunk'::regclass AND a.attname = 'embedding'
                                                   AND NOT a.attisdropped)), '') $$;

-- Use pgvector for vectors of so many numbers where the server has it, and tell whether it does.  What is there already is left
-- alone: any ALTER would wait for every reader.
CREATE FUNCTION dayleaf.arm(size int) RETURNS boolean LANGUAGE plpgsql SET search_path = pg_catalog AS $$
DECLARE
    place text;
BEGIN
    IF NOT EXISTS (SELECT FROM pg_extension WHERE extname = 'vector') THEN
        BEGIN
            CREATE EXTENSION vector SCHEMA dayleaf;
        EXCEPTION WHEN OTHERS THEN
            RETURN false;
        END;
    END IF;
    SELECT n.nspname INTO place FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace
        JOIN pg_type t ON t.typnamespace = n.oid WHERE e.extname = 'vector' AND t.typname = 'halfvec';
    IF place IS NULL THEN
        RETURN false;
    END IF;
    IF dayleaf.pgvector() = '' THEN
        EXECUTE format('ALTER TABLE dayleaf.chunk ADD COLUMN embedding %I.halfvec', place);
        EXECUTE format('UPDATE dayleaf.chunk SET embedding = (SELECT array_agg((get_byte(numbers, i) + 128) %% 256 - 128 '
                       'ORDER BY i) FROM generate_series(0, dims - 1) i)::%I.halfvec', place);
    END IF;
    IF size <= 4000 AND to_regclass('dayleaf.chunk_near_' || size) IS NULL THEN
        EXECUTE format('CREATE INDEX chunk_near_%s ON dayleaf.chunk USING hnsw ((embedding::%I.halfvec(%s)) '
                       '%I.halfvec_cosine_ops) WHERE dims = %s', size, place, size, place, size);
    END IF;
    RETURN true;
END $$;
REVOKE EXECUTE ON FUNCTION dayleaf.arm(int) FROM PUBLIC;

-- The vectors nearest to a query's, by pgvector or by how many signs differ; the caller compares them in full.
-- sought, signs: the query's numbers as pgvector reads them, and its signs.  whole: of how many all are compared.
CREATE FUNCTION dayleaf.near(spaces int[], model text, sought text, signs bit varying, most int, fewest int, whole int)
RETURNS TABLE (workspace int, record bigint, ordinal int, scale real, numbers bytea)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog SET jit = off AS $$
DECLARE
    place text := dayleaf.pgvector();
    size int := length(signs);
    mine int[];
    held bigint;
    every boolean;
    sieve text := '';
    distance text;
BEGIN
    SELECT array_agg(w.id), sum(w.chunks) INTO mine, held FROM dayleaf.workspace w
        WHERE w.id = ANY (spaces) AND w.id = ANY (dayleaf.allowed()) AND w.label = model AND w.dims = size AND w.chunks > 0;
    IF mine IS NULL THEN
        RETURN;
    END IF;
    SELECT count(*) = cardinality(mine) INTO every FROM dayleaf.workspace w WHERE w.dims = size AND w.chunks > 0;
    IF NOT every THEN
        sieve := format(' AND workspace = ANY (%L::int[])', mine);
    END IF;
    IF place = '' THEN
        distance := format('bit_count(code # %L::bit varying)', signs);
        most := greatest(most, fewest);
    ELSIF held > whole AND size <= 4000 THEN
        PERFORM set_config('hnsw.ef_search', least(greatest(most, 40), 1000)::text, true);
        BEGIN
            PERFORM set_config('hnsw.iterative_scan', 'relaxed_order', true);
        EXCEPTION WHEN OTHERS THEN
            NULL;
        END;
        distance := format('embedding::%I.halfvec(%s) OPERATOR(%I.<=>) %L::%I.halfvec(%s)',
                           place, size, place, sought, place, size);
    ELSE
        distance := format('embedding OPERATOR(%I.<=>) %L::%I.halfvec', place, sought, place);
    END IF;
    RETURN QUERY EXECUTE format('SELECT workspace, record, ordinal, scale, numbers FROM dayleaf.chunk WHERE dims = %s%s '
                                'ORDER BY %s LIMIT %s', size, sieve, distance, most);
END $$;
"""

MIGRATIONS = (_first, lambda: [_VECTORS])
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
