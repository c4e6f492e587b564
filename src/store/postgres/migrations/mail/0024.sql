-- The mail log. Lines show little of an address; mail_log_address has an HMAC of each, by which they are found.
create table mail.mail_log (
  number     bigint  primary key,
  logged_at  bigint  not null,
  result     text    not null,
  reason     text    not null,
  command    text    not null,
  mail_id    text    not null,
  client_ip  text    collate "C" not null,
  account    text    not null,
  helo       text    not null,
  sender     text    not null,
  recipients text    not null,
  size       bigint  not null,
  tls        text    not null,
  ms         bigint  not null,
  count      bigint  not null
);

create table mail.mail_log_address (
  number bigint not null,
  hash   text   collate "C" not null,
  primary key (number, hash)
);
create index mail_log_address_hash on mail.mail_log_address (hash, number);

-- The last number. Changed first in every transaction that adds lines.
create table mail.mail_log_counter (
  id     integer primary key check (id = 1),
  number bigint  not null
);
