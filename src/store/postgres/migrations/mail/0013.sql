-- Senders and clients that the operator blocks, see core/block-list.ts. A removed block has expired; expired ones are deleted a
-- day later, so that every thread has read the change.
create table mail.block_entry (
  entry      text collate "C" primary key, -- a domain, an address, or an IP address or CIDR range, in canonical form
  note       text not null,
  created_at bigint not null,
  expires_at bigint,                       -- null: until it is removed
  number     bigint not null               -- of the last change
);
create unique index block_number on mail.block_entry (number);
create index block_expiry on mail.block_entry (expires_at) where expires_at is not null;

-- The number of the last change of the block list; no row: there was none. A change locks it until its commit, so that numbers
-- are committed in order and no reader misses one.
create table mail.block_counter (
  id     integer primary key check (id = 1),
  number bigint not null
);

-- The last daily run of the checks of the installation, see service/checks/daily-checks.ts.
create table mail.check_run (
  id          integer primary key check (id = 1),
  finished_at bigint not null,
  checks      text not null -- JSON
);
