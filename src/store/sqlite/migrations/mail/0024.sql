-- The mail log. Lines show little of an address; mail_log_address has an HMAC of each, by which they are found.
create table mail_log (
  number     integer primary key,
  logged_at  integer not null,
  result     text    not null,
  reason     text    not null,
  command    text    not null,
  mail_id    text    not null,
  client_ip  text    not null,
  account    text    not null,
  helo       text    not null,
  sender     text    not null,
  recipients text    not null,
  size       integer not null,
  tls        text    not null,
  ms         integer not null,
  count      integer not null
) strict;

create table mail_log_address (
  number integer not null,
  hash   text    not null,
  primary key (number, hash)
) strict, without rowid;
create index mail_log_address_hash on mail_log_address (hash, number);

-- The last number. Changed first in every transaction that adds lines.
create table mail_log_counter (
  id     integer primary key check (id = 1),
  number integer not null
) strict;
