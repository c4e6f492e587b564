-- By recipient first: else SQLite prefers the primary key, and reads all mail of the mailbox.
drop index message_permanent;
create index message_permanent on message (recipient, id) where permanent is not null;
