-- What an address accepts, see core/address-rules.ts. Sessions from before have no rules.
alter table session add column only_from text;       -- senders, separated by commas; null: all
alter table session add column max_messages integer; -- null: no limit
-- Messages ever stored, counted from this version on; compared with max_messages.
alter table session add column received integer not null default 0;
