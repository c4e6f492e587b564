-- Fetched mail that an alias had no room for. It is still in the account, and is tried again, see deferred.ts.
create table gmail_deferred (
  account_id   integer not null,
  folder       text    not null,
  uid_validity integer not null,
  uid          integer not null,
  mailbox      integer not null,
  address      text    not null,
  size         integer not null, -- what the mailbox needs room for
  tries        integer not null, -- how often it has failed since
  next_at      integer not null, -- not tried before that
  primary key (account_id, folder, uid_validity, uid, mailbox)
) strict, without rowid;
