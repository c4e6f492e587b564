-- By triggers, so that the operations on messages are those of PostgreSQL, which counts what is at an address of the pool when it
-- needs to, and stores raw mail in partitions.
create trigger message_added_to_pool after insert on message when new.mailbox = 1
begin
  insert into pool_address (address, count, bytes) values (new.recipient, 1, new.size)
  on conflict (address) do update set count = count + 1, bytes = bytes + excluded.bytes;
end;

create trigger message_deleted_from_pool after delete on message when old.mailbox = 1
begin
  update pool_address set count = count - 1, bytes = bytes - old.size where address = old.recipient;
  delete from pool_address where address = old.recipient and count <= 0;
end;

create trigger message_deleted after delete on message
begin
  delete from raw_mail where id = old.raw_id and refs <= 1;
  update raw_mail set refs = refs - 1 where id = old.raw_id;
end;

create trigger raw_mail_deleted after delete on raw_mail
begin
  delete from raw_bytes where raw_id = old.id;
  delete from parsed_mail where raw_id = old.id;
end;
