-- By recipient first: else SQLite prefers the primary key, and reads all mail of the mailbox.
drop index mail.message_permanent;
create index message_permanent on mail.message (recipient, id) where permanent is not null;
