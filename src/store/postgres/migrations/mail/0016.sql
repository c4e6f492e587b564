-- The ledger keeps HMACs, see core/ledger.ts. The hashes of earlier versions are longer; the next start of the service replaces them.
-- Nodes of those versions do not find the column: they defer mail for the pool, rather than take an address for a new one.
alter table mail.address_ledger rename column hash to hmac;

-- What is known about the ledger. Not to be restored from a backup: a new database has no row, and the service inserts it at its
-- first start.
create table mail.ledger_state (
  id            integer primary key check (id = 1),
  unknown_until bigint,           -- until then, addresses may have belonged to sessions that the ledger lacks
  reason        text    not null, -- why; '' if it was always known
  pruned        boolean not null  -- if rows are deleted, because the pool is off
);

-- The ledger of a database that was in use is complete.
insert into mail.ledger_state (id, reason, pruned)
select 1, '', false
where exists (select 1 from mail.mail_domain) or exists (select 1 from mail.address_ledger)
  or exists (select 1 from mail.series);
