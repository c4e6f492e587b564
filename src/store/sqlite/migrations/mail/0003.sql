-- Accounts whose aliases are given out; their secrets stay in the operator's file.
create table gmail_account (
  id     integer primary key autoincrement, -- never used again
  email  text    not null unique,
  active integer not null default 1,
  health text    not null default 'starting',
  reason text    not null default ''
) strict;

-- Far from those of mail domains: domain_id may name either.
insert into sqlite_sequence (name, seq) values ('gmail_account', 1000000);

create table gmail_folder (
  account_id   integer not null,
  folder       text    not null,
  uid_validity integer not null,
  last_uid     integer not null,
  primary key (account_id, folder)
) strict, without rowid;

-- Mail that was fetched, by what it is known under when its number changes.
create table gmail_seen (
  account_id   integer not null,
  identity     text    not null,
  folder       text    not null,
  uid_validity integer not null,
  uid          integer not null,
  received_at  integer not null,
  primary key (account_id, identity, folder, uid_validity, uid)
) strict, without rowid;

create index gmail_seen_at on gmail_seen (account_id, received_at);

alter table session add column account_id integer; -- the address is an alias of this account

create index session_of_account on session (account_id, expires_at)
where account_id is not null and token_hash is not null;
