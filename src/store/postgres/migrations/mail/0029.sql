-- Accounts of mail.tm's API (src/doors/mailtm): sessions with a password.
create table mail.door_account (
  mailbox  bigint primary key, -- of the session
  password text   not null     -- salt and scrypt hash
);

-- Their tokens. One ends with the token of the session that it was created for.
create table mail.door_token (
  hash          text   collate "C" primary key,
  mailbox       bigint not null,
  session_token text   not null, -- its hash
  created_at    bigint not null
);
create index door_token_mailbox on mail.door_token (mailbox, created_at);

-- Messages that were marked as seen.
create table mail.door_seen (
  mailbox bigint not null,
  message bigint not null,
  primary key (mailbox, message)
);

create function mail.end_door() returns trigger language plpgsql as $$
begin
  delete from mail.door_account where mailbox = new.id;
  delete from mail.door_token where mailbox = new.id;
  delete from mail.door_seen where mailbox = new.id;
  return null;
end
$$;
create trigger session_door_end after update of token_hash, cleared on mail.session for each row
when (new.token_hash is null or new.cleared) execute function mail.end_door();
