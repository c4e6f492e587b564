-- Fetched mail that an alias had no room for. It is still in the account, and is tried again, see deferred.ts.
create table mail.gmail_deferred (
  account_id   integer not null,
  folder       text    not null,
  uid_validity bigint  not null,
  uid          bigint  not null,
  mailbox      bigint  not null,
  address      text    collate "C" not null,
  size         integer not null, -- what the mailbox needs room for
  tries        integer not null, -- how often it has failed since
  next_at      bigint  not null, -- not tried before that
  primary key (account_id, folder, uid_validity, uid, mailbox)
);
