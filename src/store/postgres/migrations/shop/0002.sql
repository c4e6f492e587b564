-- The first PostgreSQL schema; its number is that of SQLite's with the same content. Times are milliseconds.

create table shop.api_key (
  id           text    collate "C" primary key, -- random, never used again
  prefix       text    not null default '',
  plan         text    not null,
  label        text    not null,
  state        text    not null default 'active',
  max_requests bigint  not null,
  max_per_day  bigint,
  used         bigint  not null default 0,
  day          integer not null default 0,      -- the UTC day that used_today counts, in days since 1970
  used_today   bigint  not null default 0,
  created_at   bigint  not null,
  expires_at   bigint
) with (fillfactor = 50);                       -- each request changes its key's row: there is room for that on the same page

-- Two rows for a day while a key is rolled.
create table shop.key_secret (
  hash   text   collate "C" primary key,
  key_id text   collate "C" not null references shop.api_key (id),
  until  bigint
);

create index key_secret_key on shop.key_secret (key_id);

create table shop.usage_day (
  key_id text    collate "C" not null,
  day    integer not null,
  count  bigint  not null,
  primary key (key_id, day)
) with (fillfactor = 50);

create index usage_day_day on shop.usage_day (day);

create table shop.purchase (
  id               text    collate "C" primary key, -- random, never used again
  provider         text    not null,
  mode             text    not null,
  plan             text    not null,                -- JSON, as it was when it was ordered
  email            text,
  claim_hash       text    not null,
  link_hash        text,                            -- of the one-time link that was mailed last; null once it is used
  idempotency_hash text    collate "C" unique,
  revision         bigint  not null default 0,
  state            text    not null default 'open',
  created_at       bigint  not null,
  checkout_ref     text    collate "C" unique,
  checkout_url     text,
  subscription_ref text    collate "C" unique,
  key_id           text    collate "C" not null unique, -- one order, one entitlement: the key's row is made by the first payment
  key_prefix       text    not null,
  payments         integer not null default 0,
  paid_until       bigint,
  partly_returned  boolean not null default false,
  claimed_at       bigint,
  receipt_at       bigint                           -- when to send the receipt; null: nothing to send
);

create index purchase_created on shop.purchase (created_at);
create index purchase_unsettled on shop.purchase (provider, mode, created_at)
where state in ('open', 'pending') and checkout_ref is not null;
create index purchase_unpaid on shop.purchase (created_at) where payments = 0;
create index purchase_receipt on shop.purchase (receipt_at) where receipt_at is not null;

create table shop.payment_event (
  id          text   collate "C" primary key,       -- the provider's
  type        text   not null,
  order_id    text   collate "C",
  received_at bigint not null
);

create index payment_event_received on shop.payment_event (received_at);

-- One row: what claim secrets are made with when a request may be repeated.
create table shop.installation (
  id     integer primary key check (id = 1),
  secret bytea   not null
);

-- Up to when each provider was asked for what we missed.
create table shop.reconciled (
  provider text   collate "C" primary key,
  until    bigint not null
);
