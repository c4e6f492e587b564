create table api_key (
  id           text    primary key,      -- random, never used again
  plan         text    not null,
  label        text    not null,
  state        text    not null default 'active',
  max_requests integer not null,
  max_per_day  integer,
  used         integer not null default 0,
  day          integer not null default 0, -- the UTC day that used_today counts, in days since 1970
  used_today   integer not null default 0,
  created_at   integer not null,
  expires_at   integer
) strict, without rowid;

-- Two rows for a day while a key is rolled.
create table key_secret (
  hash   text    primary key,
  key_id text    not null references api_key (id),
  until  integer
) strict, without rowid;

create table usage_day (
  key_id text    not null,
  day    integer not null,
  count  integer not null,
  primary key (key_id, day)
) strict, without rowid;
