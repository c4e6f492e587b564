-- What an address accepts, see core/address-rules.ts. Sessions from before have no rules.
alter table mail.session
  add column only_from    text,                      -- senders, separated by commas; null: all
  add column max_messages integer,                   -- null: no limit
  add column received     integer not null default 0; -- messages ever stored, counted from this version on
