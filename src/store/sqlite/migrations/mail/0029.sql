-- Accounts of mail.tm's API (src/doors/mailtm): sessions with a password.
create table door_account (
  mailbox  integer primary key, -- of the session
  password text    not null     -- salt and scrypt hash
) strict;

-- Their tokens. One ends with the token of the session that it was created for.
create table door_token (
  hash          text    primary key,
  mailbox       integer not null,
  session_token text    not null, -- its hash
  created_at    integer not null
) strict, without rowid;
create index door_token_mailbox on door_token (mailbox, created_at);

-- Messages that were marked as seen.
create table door_seen (
  mailbox integer not null,
  message integer not null,
  primary key (mailbox, message)
) strict, without rowid;

create trigger session_door_end after update of token_hash, cleared on session
when new.token_hash is null or new.cleared
begin
  delete from door_account where mailbox = new.id;
  delete from door_token where mailbox = new.id;
  delete from door_seen where mailbox = new.id;
end;
