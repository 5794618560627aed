-- Workspaces, records, documents, terms; who may read them; the search.

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
