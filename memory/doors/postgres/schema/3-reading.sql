-- Reading costs less: who calls is asked once and not for each workspace, no list of all workspaces goes to and fro, a search
-- brings what is known of its records.  A term of one document counts over all workspaces too, and counting anew stops no reader.

CREATE OR REPLACE FUNCTION dayleaf.allowed() RETURNS int[] LANGUAGE plpgsql STABLE SECURITY DEFINER
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

DROP FUNCTION dayleaf.search(int[], text, text[], real[], real[], smallint[], bigint, bigint, int, int);
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

CREATE OR REPLACE FUNCTION dayleaf.frequency(spaces int[], asked text[]) RETURNS TABLE (term text, df bigint)
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

CREATE OR REPLACE FUNCTION dayleaf.vocabulary(spaces int[], start text, most int) RETURNS TABLE (term text, df bigint)
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

-- Planning: no question asks for a document by its number, and what the terms of 16 partitions are like takes longer to read than
-- it tells.
DO $$ DECLARE part text; BEGIN
    FOR part IN SELECT inhrelid::regclass::text FROM pg_inherits WHERE inhparent = 'dayleaf.document'::regclass LOOP
        EXECUTE format('DROP INDEX %s_id_idx', part);
        EXECUTE format('ALTER TABLE %s ALTER words SET STATISTICS 0', part);
    END LOOP;
END $$;
ALTER TABLE dayleaf.document ALTER words SET STATISTICS 0;

-- Tiers of a term of one document tell nothing: it is among the candidates anyway.
CREATE OR REPLACE FUNCTION dayleaf.recount() RETURNS void LANGUAGE plpgsql SET search_path = pg_catalog AS $$
BEGIN
    PERFORM pg_advisory_xact_lock(28254671808586087);
    WITH counted AS MATERIALIZED (
        SELECT t.term, sum(t.df) AS df FROM dayleaf.term t WHERE t.df > 0 GROUP BY t.term
        HAVING sum(t.df) > 1 OR position(chr(6) IN t.term) = 0),
    gone AS (DELETE FROM dayleaf.total t WHERE NOT EXISTS (SELECT FROM counted c WHERE c.term = t.term))
    INSERT INTO dayleaf.total AS t SELECT * FROM counted
        ON CONFLICT (term) DO UPDATE SET df = excluded.df WHERE t.df <> excluded.df;
END $$;
SELECT dayleaf.recount();
