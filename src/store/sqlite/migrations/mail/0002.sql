-- What a key may read: its own sessions' mail and the pool, see key-mail.ts.

alter table message add column key_id text; -- of the key that the mailbox's session was made with

update message set key_id = (select key_id from session where session.id = message.mailbox)
where mailbox in (select id from session where key_id is not null);

create index message_of_key on message (key_id, id) where key_id is not null;
-- Of the pool alone, which is the lowest mailbox. Not `= 1`: then SQLite would plan every `mailbox = ?` anew each time it is run.
create index message_in_pool on message (recipient, id) where mailbox <= 1;

-- Those that can be live: a session loses its token when it ends or is let go.
create index session_of_key on session (key_id, expires_at)
where key_id is not null and token_hash is not null;

-- Ids rise over the pool and all sessions with a key: the pool's row draws them all.
update shared_mailbox
set last_id = max(last_id, (select coalesce(max(last_id), 0) from session where key_id is not null))
where id = 1;

-- Rises with every change that the key could see; a row is never taken away, so no version comes twice.
create table key_view (
  key_id  text    primary key,
  version integer not null
) strict, without rowid;

-- By a trigger, so that no write can forget it: mail that comes or goes moves the version, as an extension does;
-- the token goes when a session ends or is let go.
create trigger session_seen after update of version, token_hash on session
when new.key_id is not null
begin
  insert into key_view (key_id, version) values (new.key_id, 1)
  on conflict (key_id) do update set version = version + 1;
end;
