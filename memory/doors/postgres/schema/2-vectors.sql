-- Vectors, by pgvector where it is there.

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
