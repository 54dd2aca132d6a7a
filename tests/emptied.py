"""A PostgreSQL database that is made once and then emptied: making one takes longer.

For tests that only write rows. One that changes tables or settings needs its own.
"""

from functools import cache

import psycopg


def emptied(server: str, name: str) -> str:
    """Return the URL of the database, as it was when it was made from the template."""
    url = _made(server, name)
    with psycopg.connect(url) as connection:
        connection.execute(_LEAVE)
        connection.execute(_EMPTY)
    return url


@cache
def _made(server: str, name: str) -> str:
    url = server.replace("/postgres?", f"/{name}?")
    with psycopg.connect(server, autocommit=True) as connection:
        made = f"CREATE DATABASE {name} TEMPLATE template_leyden"
        connection.execute(made.encode())
    with psycopg.connect(url) as connection:
        connection.execute(_REMEMBER)
    return url


# What the migrations have put into tables is kept in a schema of its own.
_REMEMBER = """
DO $$ DECLARE each record; BEGIN
  CREATE SCHEMA seeds;
  FOR each IN SELECT tablename AS name FROM pg_tables WHERE schemaname = 'public' LOOP
    EXECUTE format('CREATE TABLE seeds.%1$I AS TABLE public.%1$I', each.name);
  END LOOP;
END $$
"""
_LEAVE = """
SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity
WHERE datname = current_database() AND pid <> pg_backend_pid()
"""
# A replica's session has no triggers: those forbid this, and keep tables in order.
_EMPTY = """
DO $$ DECLARE each record; BEGIN
  SET LOCAL session_replication_role = replica;
  FOR each IN SELECT tablename AS name FROM pg_tables WHERE schemaname = 'public' LOOP
    EXECUTE format('DELETE FROM public.%I', each.name);
    EXECUTE format('INSERT INTO public.%1$I SELECT * FROM seeds.%1$I', each.name);
  END LOOP;
  PERFORM setval(format('%I.%I', schemaname, sequencename), start_value, false)
    FROM pg_sequences WHERE schemaname = 'public';
END $$
"""
