alter table api_key add column prefix text not null default '';

create index key_secret_key on key_secret (key_id);
create index usage_day_day on usage_day (day);

create table purchase (
  id               text    primary key,       -- random, never used again
  provider         text    not null,
  mode             text    not null,
  plan             text    not null,          -- JSON, as it was when it was ordered
  email            text,
  claim_hash       text    not null,
  link_hash        text,                      -- of the one-time link that was mailed last; null once it is used
  idempotency_hash text    unique,
  revision         integer not null default 0,
  state            text    not null default 'open',
  created_at       integer not null,
  checkout_ref     text    unique,
  checkout_url     text,
  subscription_ref text    unique,
  key_id           text    not null unique,   -- one order, one entitlement: the key's row is made by the first payment
  key_prefix       text    not null,
  payments         integer not null default 0,
  paid_until       integer,
  partly_returned  integer not null default 0,
  claimed_at       integer,
  receipt_at       integer                    -- when to send the receipt; null: nothing to send
) strict, without rowid;

create index purchase_created on purchase (created_at);
create index purchase_unsettled on purchase (provider, mode, created_at)
  where state in ('open', 'pending') and checkout_ref is not null;
create index purchase_unpaid on purchase (created_at) where payments = 0;
create index purchase_receipt on purchase (receipt_at) where receipt_at is not null;

create table payment_event (
  id          text    primary key,            -- the provider's
  type        text    not null,
  order_id    text,
  received_at integer not null
) strict, without rowid;

create index payment_event_received on payment_event (received_at);

-- One row: what claim secrets are made with when a request may be repeated.
create table installation (
  id     integer primary key check (id = 1),
  secret blob    not null
) strict;

-- Up to when each provider was asked for what we missed.
create table reconciled (
  provider text    primary key,
  until    integer not null
) strict, without rowid;
