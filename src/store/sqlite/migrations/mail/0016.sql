-- The ledger keeps HMACs, see core/ledger.ts. The hashes of earlier versions are longer; the next start of the service replaces them.
alter table address_ledger rename column hash to hmac;

-- What is known about the ledger. Neither backed up nor restored: a new database has no row, and the service inserts it at its
-- first start.
create table ledger_state (
  id            integer primary key check (id = 1),
  unknown_until integer,          -- until then, addresses may have belonged to sessions that the ledger lacks
  reason        text    not null, -- why; '' if it was always known
  pruned        integer not null  -- 1 if rows are deleted, because the pool is off
) strict;

-- The ledger of a database that was in use is complete.
insert into ledger_state (id, reason, pruned)
select 1, '', 0
where exists (select 1 from mail_domain) or exists (select 1 from address_ledger)
  or exists (select 1 from series);
