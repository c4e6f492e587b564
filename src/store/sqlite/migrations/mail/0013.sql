-- Senders and clients that the operator blocks, see core/block-list.ts. A removed block has expired; expired ones are deleted a
-- day later, so that every thread has read the change.
create table block_entry (
  entry      text primary key,  -- a domain, an address, or an IP address or CIDR range, in canonical form
  note       text not null,
  created_at integer not null,
  expires_at integer,           -- null: until it is removed
  number     integer not null   -- of the last change
);
create unique index block_number on block_entry (number);
create index block_expiry on block_entry (expires_at) where expires_at is not null;

-- The number of the last change of the block list; no row: there was none.
create table block_counter (
  id     integer primary key check (id = 1),
  number integer not null
);

-- The last daily run of the checks of the installation, see service/checks/daily-checks.ts.
create table check_run (
  id          integer primary key check (id = 1),
  finished_at integer not null,
  checks      text not null -- JSON
);
