-- A webhook is a cursor over the mail that its key may see. The pending message is charged to the day and period beside it.
create table webhook (
  id               text    primary key, -- random, never used again; its secret is derived from it
  key_id           text    not null references api_key (id),
  url              text    not null,
  to_address       text,
  from_pattern     text,
  subject          text,
  created_at       integer not null,
  generation       integer not null default 1,
  old_secret_until integer,
  disabled         text,                    -- why; null: active
  paused           text,                    -- why the pending message cannot be charged
  last_id          integer not null,          -- everything up to this message is delivered, skipped or not selected
  replays          integer not null default 0,
  pending_id       integer,
  pending_replay   integer not null default 0,
  charged_day      integer,                 -- null: the pending message is not charged
  charged_period   integer,
  attempts         integer not null default 0, -- of the pending message
  failures         integer not null default 0, -- in a row
  last_error       text,
  next_attempt_at  integer,
  failing_since    integer,
  blocked_since    integer,                    -- since when the pending message waits for a charge, or the webhook is disabled
  gap_since        integer,
  delivered_at     integer,
  delivered_id     integer,
  deliveries       integer not null default 0 -- attempts so far: the number of the next row below
) strict, without rowid;

create index webhook_key on webhook (key_id);

-- The last attempts of each webhook.
create table webhook_delivery (
  webhook_id text    not null references webhook (id),
  number     integer not null,
  message_id integer not null,
  attempt    integer not null,
  status     integer,
  error      text,
  ms         integer not null,
  at         integer not null,
  primary key (webhook_id, number)
) strict, without rowid;
