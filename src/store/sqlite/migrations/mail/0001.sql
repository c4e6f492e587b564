create table mail_domain (
  id          integer primary key autoincrement, -- never used again
  name        text    not null unique,
  active      integer not null default 1,
  removed     integer not null default 0,
  sessions    integer not null,
  reader      integer not null,
  ttl_seconds integer
) strict;

create table session (
  id         integer primary key,        -- near the clock, see core/id.ts: also new after a restore
  address    text    unique,             -- null once it is let go and only its mail is left to sweep
  token_hash text    unique,             -- null once its owner ended it
  key_id     text,
  created_at integer not null,
  expires_at integer not null,
  version    integer not null default 0,
  last_id    integer not null default 0,
  count      integer not null default 0,
  bytes      integer not null default 0,
  cleared    integer not null default 0  -- 1 once its mail is swept; the row stays while the address cools down
) strict;

create index session_due on session (cleared, expires_at);

-- The pool (1) and the operator's box (2), see core/session.ts.
create table shared_mailbox (
  id      integer primary key,
  version integer not null default 0,
  last_id integer not null default 0,
  count   integer not null default 0,
  bytes   integer not null default 0
) strict;

insert into shared_mailbox (id) values (1), (2);

create table pool_address (
  address text    primary key,
  count   integer not null,
  bytes   integer not null
) strict, without rowid;

-- Every address that ever belonged to a session, for ever: none of them may fall into the pool.
create table address_ledger (
  hash text primary key
) strict, without rowid;

create table raw_mail (
  id          integer primary key,       -- never used again: a parse that comes late must not meet another mail
  refs        integer not null,
  client_ip   text    not null,
  helo        text    not null,
  mail_from   text    not null,
  tls         text,
  protocol    text    not null,
  received_at integer not null
) strict;

-- Apart from raw_mail, because an update rewrites its whole row.
create table raw_bytes (
  raw_id integer primary key,
  zstd   blob    not null
) strict;

create table parsed_mail (
  raw_id integer primary key,
  zstd   blob    not null
) strict;

create table message (
  mailbox      integer not null,
  id           integer not null,
  raw_id       integer not null,
  recipient    text    not null,
  sender_name  text    not null,
  sender_email text    not null,
  subject      text    not null,
  received_at  integer not null,
  size         integer not null,
  primary key (mailbox, id)
) strict, without rowid;
