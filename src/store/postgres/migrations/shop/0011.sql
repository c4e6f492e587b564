-- A webhook is a cursor over the mail that its key may see. The pending message is charged to the day and period beside it.
create table shop.webhook (
  id               text    collate "C" primary key, -- random, never used again; its secret is derived from it
  key_id           text    collate "C" not null references shop.api_key (id),
  url              text    not null,
  to_address       text,
  from_pattern     text,
  subject          text,
  created_at       bigint  not null,
  generation       integer not null default 1,
  old_secret_until bigint,
  disabled         text,                    -- why; null: active
  paused           text,                    -- why the pending message cannot be charged
  last_id          bigint  not null,          -- everything up to this message is delivered, skipped or not selected
  replays          integer not null default 0,
  pending_id       bigint,
  pending_replay   integer not null default 0,
  charged_day      integer,                 -- null: the pending message is not charged
  charged_period   integer,
  attempts         integer not null default 0, -- of the pending message
  failures         integer not null default 0, -- in a row
  last_error       text,
  next_attempt_at  bigint,
  failing_since    bigint,
  blocked_since    bigint,                    -- since when the pending message waits for a charge, or the webhook is disabled
  gap_since        bigint,
  delivered_at     bigint,
  delivered_id     bigint,
  deliveries       bigint  not null default 0 -- attempts so far: the number of the next row below
) with (fillfactor = 50);

create index webhook_key on shop.webhook (key_id);

-- The last attempts of each webhook.
create table shop.webhook_delivery (
  webhook_id text    collate "C" not null references shop.webhook (id),
  number     bigint  not null,
  message_id bigint  not null,
  attempt    integer not null,
  status     integer,
  error      text,
  ms         integer not null,
  at         bigint  not null,
  primary key (webhook_id, number)
);
