-- Workspaces, records, documents, terms, vectors; who may read them; the search.

CREATE TABLE dayleaf.workspace (
    id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, key text NOT NULL UNIQUE, tokeniser bigint NOT NULL,
    documents bigint NOT NULL DEFAULT 0, length bigint NOT NULL DEFAULT 0, loaded timestamptz,
    label text NOT NULL DEFAULT '', dims int NOT NULL DEFAULT 0, chunks bigint NOT NULL DEFAULT 0);
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
CREATE TABLE dayleaf.chunk (
    workspace int NOT NULL REFERENCES dayleaf.workspace ON DELETE CASCADE,
    record bigint NOT NULL REFERENCES dayleaf.record ON DELETE CASCADE,
    ordinal int NOT NULL, dims int NOT NULL, scale real NOT NULL CHECK (scale > 0 AND scale < 'infinity'),
    code bit varying NOT NULL, numbers bytea NOT NULL);
CREATE INDEX chunk_workspace ON dayleaf.chunk (workspace);
CREATE INDEX chunk_record ON dayleaf.chunk (record);
ALTER TABLE dayleaf.chunk ALTER numbers SET STORAGE EXTERNAL;

-- Who calls, also within a function that runs as its owner.
CREATE FUNCTION dayleaf.caller() RETURNS name LANGUAGE sql STABLE AS
$$ SELECT CASE WHEN current_setting('role') IN ('none', '') THEN session_user ELSE current_setting('role')::name END $$;
CREATE FUNCTION dayleaf.allowed() RETURNS int[] LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog AS $$
DECLARE
    named text := coalesce(current_setting('dayleaf.workspaces', true), '');
    mine int[];
BEGIN
    IF pg_has_role(dayleaf.caller(), (SELECT relowner FROM pg_class WHERE oid = 'dayleaf.workspace'::regclass), 'MEMBER') THEN
        mine := ARRAY(SELECT id FROM dayleaf.workspace ORDER BY id);
    ELSE
        mine := ARRAY(SELECT DISTINCT m.workspace FROM dayleaf.member m JOIN pg_roles r ON r.rolname = m.role
                      WHERE pg_has_role(dayleaf.caller(), r.oid, 'MEMBER') ORDER BY 1);
    END IF;
    IF named <> '' THEN
        mine := ARRAY(SELECT id FROM dayleaf.workspace
                      WHERE id = ANY (mine) AND key = ANY (string_to_array(named, ',')) ORDER BY id);
    END IF;
    RETURN mine;
END $$;

-- Those of some workspaces that the caller may read; spaces: NULL for all of these.
CREATE FUNCTION dayleaf.among(spaces int[]) RETURNS int[] LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog AS $$
DECLARE
    mine int[] := dayleaf.allowed();
BEGIN
    RETURN CASE WHEN spaces IS NULL THEN mine ELSE ARRAY(SELECT unnest(mine) INTERSECT SELECT unnest(spaces)) END;
END $$;

CREATE FUNCTION dayleaf.admit(role text, workspace text) RETURNS void LANGUAGE plpgsql AS $$
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
REVOKE EXECUTE ON FUNCTION dayleaf.admit(text, text) FROM PUBLIC;

-- The best documents of some workspaces.  wanted: what brings candidates.  terms, weights: what ranks them.  cap: candidates.
CREATE FUNCTION dayleaf.search(spaces int[], wanted text, terms text[], weights real[], levels real[], kinds smallint[],
                               since bigint, until bigint, cap int, most int)
RETURNS TABLE (document bigint, record bigint, workspace int, ordinal int, name text, known text, kind smallint, created bigint,
               checksum text) LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog SET enable_seqscan = off SET jit = off AS $$
DECLARE
    mine int[] := dayleaf.among(spaces);
    value text;
    sieve text := '';
BEGIN
    IF cardinality(mine) = 0 THEN
        RETURN;
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
        'SELECT b.id, r.id, r.workspace, b.ordinal, r.name, r.known, r.kind, r.created, r.checksum FROM (
             SELECT id, record, ordinal, (%s)::real AS score FROM (
                 SELECT id, record, ordinal, words FROM dayleaf.document WHERE words @@ %L::tsquery%s LIMIT %s) found
             ORDER BY 4 DESC, 1 LIMIT %s) b
         JOIN dayleaf.record r ON r.id = b.record ORDER BY b.score DESC, b.id', value, wanted, sieve, cap, most);
END $$;

-- How many documents hold each term: over all workspaces from `total`, else counted over those that are asked.
CREATE FUNCTION dayleaf.frequency(spaces int[], asked text[]) RETURNS TABLE (term text, df bigint)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog AS $$
DECLARE
    mine int[] := dayleaf.among(spaces);
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
    mine int[] := dayleaf.among(spaces);
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

-- A term of one document counts over all workspaces too, but for tiers, which tell nothing there.  No reader waits.
CREATE FUNCTION dayleaf.recount() RETURNS void LANGUAGE plpgsql SET search_path = pg_catalog AS $$
BEGIN
    PERFORM pg_advisory_xact_lock(28254671808586087);
    WITH counted AS MATERIALIZED (
        SELECT t.term, sum(t.df) AS df FROM dayleaf.term t WHERE t.df > 0 GROUP BY t.term
        HAVING sum(t.df) > 1 OR position(chr(6) IN t.term) = 0),
    gone AS (DELETE FROM dayleaf.total t WHERE NOT EXISTS (SELECT FROM counted c WHERE c.term = t.term))
    INSERT INTO dayleaf.total AS t SELECT * FROM counted
        ON CONFLICT (term) DO UPDATE SET df = excluded.df WHERE t.df <> excluded.df;
END $$;
REVOKE EXECUTE ON FUNCTION dayleaf.recount() FROM PUBLIC;

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
